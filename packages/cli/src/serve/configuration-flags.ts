import { CONFIGURATION_FIELDS, type ConfigurationField } from '@gimbal/core/config';
import { type Command, Option } from 'commander';

/** Shown first; the many others have a heading of their own. */
const PRINCIPAL = ['http.host', 'http.port', 'grpc.port', 'admin.host', 'admin.port'];
const HEADING = 'Configuration (also in gimbal.yaml and as GIMBAL_… variables):';

export type FlagValues = Readonly<
  Record<string, { readonly name: string; readonly text: string } | undefined>
>;

/** One flag for each field of the configuration. */
export function addConfigurationFlags(command: Command): void {
  for (const field of CONFIGURATION_FIELDS) {
    const option = optionOf(field);
    if (option === undefined) continue;
    if (!PRINCIPAL.includes(field.name)) option.helpGroup(HEADING);
    command.addOption(option);
  }
}

/** What was given on the command line, by field name. */
export function configurationFlags(options: Readonly<Record<string, unknown>>): FlagValues {
  return Object.fromEntries(
    CONFIGURATION_FIELDS.flatMap((field) => {
      const option = optionOf(field);
      const value = option === undefined ? undefined : options[option.attributeName()];
      if (option === undefined || value === undefined) return [];
      return [[field.name, { name: `--${field.flag}`, text: String(value) }]];
    }),
  );
}

function optionOf(field: ConfigurationField): Option | undefined {
  if (field.flag === undefined) return undefined;
  const isSwitch = field.kind === 'boolean';
  const value = isSwitch
    ? '[true|false]'
    : field.choices.length > 0
      ? `<${field.choices.join('|')}>`
      : `<${field.kind}>`;
  const given = field.defaultText === undefined ? '' : ` (default: ${field.defaultText})`;
  return new Option(`--${field.flag} ${value}`, `${plain(field.description)}${given}`);
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}

/** Markup that is safe to put into a page as it is. */
export interface Html {
  readonly markup: string;
}

export type HtmlPart = Html | string | number | undefined | readonly HtmlPart[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A template whose values are escaped, but for those that are markup already. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlPart[]): Html {
  let markup = strings[0] ?? '';
  values.forEach((value, index) => {
    markup += markupOf(value) + (strings[index + 1] ?? '');
  });
  return { markup };
}

/** Trusted markup: the page's own files, never anything that came from a model or a client. */
export function trusted(markup: string): Html {
  return { markup };
}

/** JSON for a data block: nothing in it can end the element. */
export function jsonBlock(value: unknown): Html {
  return { markup: JSON.stringify(value).replaceAll('<', '\\u003c') };
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

function markupOf(value: HtmlPart): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return isHtml(value) ? value.markup : value.map(markupOf).join('');
}

function isHtml(value: Html | readonly HtmlPart[]): value is Html {
  return 'markup' in value;
}

import type { CatalogueEntry, TensorSpec, VersionSpec } from '@gimbal/core';
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { addConfigurationFlags, configurationFlags } from './configuration-flags.ts';
import { curlCommands } from './curl-commands.ts';

function anEntry(
  spec: Pick<VersionSpec, 'model' | 'task'>,
  inputs: readonly TensorSpec[] = [],
): CatalogueEntry {
  const signature = { inputs, outputs: [], batchAxis: 'dynamic' as const };
  const view = { state: 'ready', spec: { ...spec, version: '1', signature } };
  return { model: spec.model, versions: [view], failures: [] } as unknown as CatalogueEntry;
}

const tensor = (name: string, datatype: TensorSpec['datatype'], shape: number[]): TensorSpec => ({
  name,
  datatype,
  shape,
  axisNames: shape.map(() => null),
});

it('flags become the fields of the configuration, others none', () => {
  const command = new Command();
  addConfigurationFlags(command);
  command.parse(['--port', '0', '--drills', '--models-watch', 'false', '--limits-max-body-bytes', '1MiB'], {
    from: 'user',
  });
  expect(configurationFlags(command.opts())).toEqual({
    'http.port': { name: '--port', text: '0' },
    'models.watch': { name: '--models-watch', text: 'false' },
    'limits.maxBodyBytes': { name: '--limits-max-body-bytes', text: '1MiB' },
    drills: { name: '--drills', text: 'true' },
  });
});

it('the commands to try have a body that fits each model, one for each task', () => {
  const entries = [
    anEntry({ model: 'add-sub', task: 'tensor' }, [
      tensor('A', 'INT32', [-1, 2]),
      tensor('B', 'BYTES', [-1]),
    ]),
    anEntry({ model: 'digits', task: 'tabular' }, [tensor('pixels', 'FP32', [-1, 4])]),
    anEntry({ model: 'other-digits', task: 'tabular' }, [tensor('pixels', 'FP32', [-1, 4])]),
    anEntry({ model: 'cats', task: 'image-classification' }),
    anEntry({ model: 'words', task: 'text-embedding' }),
  ];
  const commands = curlCommands('http://h:1', entries, { cwd: '/nowhere', limit: 9 });
  expect(commands).toEqual([
    "curl --data-binary @cat.jpg -H 'content-type: image/jpeg' http://h:1/v1/models/cats/predict",
    "curl -d 'The weather is lovely today.' -H 'content-type: text/plain' http://h:1/v1/models/words/predict",
    `curl -d '{"input":[1,1,1,1]}' -H 'content-type: application/json' http://h:1/v1/models/digits/predict`,
    `curl -d '{"input":{"A":[[1,1]],"B":["a"]}}' -H 'content-type: application/json' http://h:1/v1/models/add-sub/predict`,
  ]);
  expect(curlCommands('http://h:1', entries, { cwd: '/nowhere', limit: 3 })).toHaveLength(3);
});

it('a command that nobody would copy is left out', () => {
  const entries = [anEntry({ model: 'wide', task: 'tabular' }, [tensor('x', 'FP32', [-1, 2_048])])];
  expect(curlCommands('http://h:1', entries, { cwd: '/nowhere', limit: 3 })).toEqual([]);
});

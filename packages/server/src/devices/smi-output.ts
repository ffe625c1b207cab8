import type { DeviceMemory, DeviceReading, DeviceSample } from './device-reading.ts';
import { MAX_DEVICES } from './monitor-frame.ts';

/** Fields that every `nvidia-smi` of the last ten years knows; one unknown field would fail the whole query. */
const FIELDS = [
  'index',
  'uuid',
  'name',
  'memory.total',
  'memory.used',
  'memory.free',
  'utilization.gpu',
  'utilization.memory',
  'temperature.gpu',
  'power.draw',
  'power.limit',
  'ecc.errors.uncorrected.volatile.total',
  'driver_version',
] as const;
type Field = (typeof FIELDS)[number];

const NAME_COLUMN = FIELDS.indexOf('name');
const BYTES_PER_MIB = 1024 * 1024;
/** What stands in a cell of a device that does not answer any more. */
const LOST = /is lost|requires reset|fallen off/i;

export const SMI_ARGUMENTS: readonly string[] = [
  `--query-gpu=${FIELDS.join(',')}`,
  '--format=csv,noheader,nounits',
];

/**
 * Reads what `nvidia-smi` prints: one line for each device. Cells such as `[N/A]`, `[Not Supported]`, `ERR!` are unknown;
 * lines that are none (warnings, banners) are passed over.
 */
export function readSmiOutput(text: string): DeviceSample {
  const rows = text
    .split(/\r?\n/)
    .map(cellsOf)
    .filter((row) => row !== undefined)
    .slice(0, MAX_DEVICES);
  const driver = rows.map((row) => row.driver_version).find((cell) => /^\d/.test(cell));
  return { source: 'nvidia-smi', driver, devices: rows.map(readingOf) };
}

function cellsOf(line: string): Readonly<Record<Field, string>> | undefined {
  const cells = line.split(',').map((cell) => cell.trim());
  const extra = cells.length - FIELDS.length;
  if (extra < 0 || !/^\d+$/.test(cells[0] ?? '')) return undefined;
  // Only a name may hold commas of its own.
  const name = cells.slice(NAME_COLUMN, NAME_COLUMN + 1 + extra).join(', ');
  cells.splice(NAME_COLUMN, 1 + extra, name);
  const entries = FIELDS.map((field, column) => [field, cells[column] ?? ''] as const);
  return Object.fromEntries(entries) as Record<Field, string>;
}

function readingOf(row: Readonly<Record<Field, string>>): DeviceReading {
  const index = Number(row.index);
  return {
    index,
    uuid: /^(GPU|MIG)-/.test(row.uuid) ? row.uuid : `index-${index}`,
    name: isUnknown(row.name) ? 'NVIDIA device' : row.name,
    memory: memoryOf(row),
    busyRatio: ratioOf(row['utilization.gpu']),
    memoryBusyRatio: ratioOf(row['utilization.memory']),
    temperatureCelsius: amountOf(row['temperature.gpu']),
    slowdownCelsius: undefined,
    powerWatts: amountOf(row['power.draw']),
    powerLimitWatts: amountOf(row['power.limit']),
    energyJoules: undefined,
    uncorrectedErrors: amountOf(row['ecc.errors.uncorrected.volatile.total']),
    xids: [],
    processes: undefined,
    lost: Object.values(row).some((cell) => LOST.test(cell)),
  };
}

function memoryOf(row: Readonly<Record<Field, string>>): DeviceMemory | undefined {
  const total = amountOf(row['memory.total']);
  const used = amountOf(row['memory.used']);
  const free = amountOf(row['memory.free']) ?? (total === undefined ? undefined : total - (used ?? total));
  if (total === undefined || free === undefined || (used === undefined && isUnknown(row['memory.free']))) {
    return undefined;
  }
  const usedMib = used ?? total - free;
  return {
    totalBytes: total * BYTES_PER_MIB,
    usedBytes: usedMib * BYTES_PER_MIB,
    freeBytes: Math.max(0, free) * BYTES_PER_MIB,
  };
}

function ratioOf(cell: string): number | undefined {
  const percent = amountOf(cell);
  return percent === undefined ? undefined : Math.min(1, percent / 100);
}

/** A leading number; some versions print the unit although they were told not to. */
function amountOf(cell: string): number | undefined {
  const match = /^\d+(?:\.\d+)?(?=\s|%|$)/.exec(cell);
  return match ? Number(match[0]) : undefined;
}

function isUnknown(cell: string): boolean {
  return cell === '' || /^\[.*\]$|^N\/A$|^ERR!$/i.test(cell);
}

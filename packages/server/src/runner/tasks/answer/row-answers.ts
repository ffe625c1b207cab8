import type { JsonWriter } from './json-writer.ts';

/**
 * Frames an answer: the members themselves for a single row, `"results":[{…},…]` for several. `writeRow` writes the
 * members of one row.
 */
export function writeRows(writer: JsonWriter, rows: number, writeRow: (row: number) => void): Uint8Array {
  writer.begin();
  if (rows === 1) {
    writeRow(0);
    return writer.finish();
  }
  writer.ascii('"results":[');
  for (let row = 0; row < rows; row += 1) {
    writer.ascii(row === 0 ? '{' : ',{');
    writeRow(row);
    writer.ascii('}');
  }
  writer.ascii(']');
  return writer.finish();
}

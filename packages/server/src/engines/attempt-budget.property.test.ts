import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AttemptBudget } from './attempt-budget.ts';

test('AttemptBudget never grants more than its share of batches and its floor', () => {
  fc.assert(
    fc.property(
      fc.array(fc.boolean(), { maxLength: 2_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (batches, ratio) => {
        const budget = new AttemptBudget({ ratio, floor: 10 });
        let granted = 0;
        for (const [index, wants] of batches.entries()) {
          budget.earn();
          if (wants && budget.spend()) granted += 1;
          expect(granted).toBeLessThanOrEqual(ratio * (index + 1) + 10 + 1e-6);
        }
      },
    ),
  );
});

test('AttemptBudget of no share grants nothing, and one of a tenth grants every tenth batch', () => {
  const none = new AttemptBudget({ ratio: 0, floor: 10 });
  none.earn();
  expect(none.spend()).toBe(false);
  const tenth = new AttemptBudget({ ratio: 0.1, floor: 0 });
  let granted = 0;
  for (let batch = 0; batch < 1_000; batch += 1) {
    tenth.earn();
    if (tenth.spend()) granted += 1;
  }
  expect(granted).toBeGreaterThanOrEqual(98);
  expect(granted).toBeLessThanOrEqual(100);
});

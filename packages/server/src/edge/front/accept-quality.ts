/** How much a client wants one of the ranges of an Accept header: what its `q` says, 1 without one (RFC 9110, 12.4.2). */
export function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  const quality = Number(given.slice(2));
  return Number.isFinite(quality) ? quality : 0;
}

import { createHttpServer } from '../server.ts';
import { TEST_LIMITS } from './test-server.ts';

/** A server in a process of its own, which may open as many files as its first argument says. Lines of JSON on stdout. */
const maxOpenFiles = Number(process.argv[2]);
const LIFE_MS = 30_000;

const server = createHttpServer({
  listener: (exchange) => exchange.respond(200, '', ''),
  limits: TEST_LIMITS,
  clock: { now: () => performance.now(), wallTimeMs: () => Date.now() },
  draining: () => false,
  maxOpenFiles,
  onAcceptTrouble: (trouble) => process.stdout.write(`${JSON.stringify(trouble)}\n`),
});
const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ port })}\n`);
setTimeout(() => process.exit(1), LIFE_MS).unref();

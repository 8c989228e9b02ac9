import { runDemo } from './demo.ts';

const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());
// `npm run demo | head`: the reader has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await runDemo({
  args: process.argv.slice(2),
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interruption.signal,
});

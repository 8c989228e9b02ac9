import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';

it('the example in the README runs as it says, and is the file in examples/', async () => {
  const logged = vi.spyOn(console, 'log').mockImplementation(() => {});
  try {
    await import('./lost-reply.ts');
    expect(logged.mock.calls).toEqual([[0n, 1]]);
  } finally {
    logged.mockRestore();
  }
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const example = readFileSync(new URL('lost-reply.ts', import.meta.url), 'utf8');
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``);
});

import { execFile } from 'node:child_process';
import { relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../workspaces.ts';
import { examplesOf, placeInMarkdown } from './examples.ts';
import { extractExamples } from './extracted.ts';
import { localLinksOf } from './links.ts';

const page = [
  '# Title',
  '<!-- setup',
  "import { a } from 'a';",
  'declare const b: string;',
  '-->',
  '```ts',
  'a(b);',
  '```',
  '<!-- run -->',
  '',
  '```typescript',
  'console.log(1);',
  '```',
  '<!-- run -->',
  'Words between.',
  '```ts',
  'c();',
  '```',
  '```sh',
  'npm test',
  '```',
].join('\n');

describe('examples in Markdown', () => {
  it('a block is found with its line, its hidden setup, and whether it runs', () => {
    expect(examplesOf(page)).toEqual([
      { code: "import { a } from 'a';\ndeclare const b: string;\na(b);\n", line: 7, setupLines: 2, runs: false },
      { code: 'console.log(1);\n', line: 12, setupLines: 0, runs: true },
      { code: 'c();\n', line: 17, setupLines: 0, runs: false },
    ]);
  });

  it('an error is reported at the line of the Markdown file', () => {
    const [example] = examplesOf(page);
    expect(placeInMarkdown(example!, 3)).toBe(7);
  });

  const runnable = extractExamples('docs-run').filter(({ example }) => example.runs);
  it.for(runnable.map(({ markdown, example, file }) => [`${markdown}:${example.line}`, file] as const))(
    '%s runs to its end',
    async ([, file]) => {
      const { stderr } = await promisify(execFile)(
        process.execPath,
        ['--conditions=@sendonce/source', relative(repositoryRoot, file)],
        { cwd: repositoryRoot, timeout: 20_000 },
      );
      expect(stderr).toBe('');
    },
  );
});

it('links to files are found, those to pages, headings and in code are not', () => {
  const markdown = [
    '[a](docs/a.md) and [b](../b.ts#top) and [c](#here) and [d](https://example.org/x) ![e](e.png "title")',
    '`[f](f.md)`',
    '```md',
    '[g](g.md)',
    '```',
  ].join('\n');
  expect(localLinksOf(markdown)).toEqual(['docs/a.md', '../b.ts', 'e.png']);
});

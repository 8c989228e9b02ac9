import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { repositoryRoot } from '../workspaces.ts';
import { placeInMarkdown } from './examples.ts';
import { extractExamples, markdownFiles } from './extracted.ts';
import { localLinksOf } from './links.ts';

/**
 * Type-checks every TypeScript block of every Markdown file, and looks for the files that they link to. Those marked `<!-- run -->` are run by `examples.test.ts`
 * beside this file.
 */
const extracted = extractExamples('docs-types');
if (extracted.length > 0) {
  const project = join(repositoryRoot, '.cache/docs-types.tsconfig.json');
  const options = { noEmit: true, noUnusedLocals: false };
  const files = extracted.map(({ file }) => file);
  writeFileSync(project, JSON.stringify({ extends: '../tsconfig.base.json', compilerOptions: options, files }));
  const { status, stdout, stderr } = spawnSync('tsc', ['-p', project, '--pretty', 'false'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
  const shown = stdout.replaceAll(/^(\S+?)\((\d+),(\d+)\)/gm, (whole, path: string, line: string) => {
    const found = extracted.find(({ file }) => relative(repositoryRoot, file) === path);
    return found === undefined ? whole : `${found.markdown}:${placeInMarkdown(found.example, Number(line))}`;
  });
  if (status !== 0) {
    console.error(`${shown}${stderr}`);
    console.error(
      'What a block takes for granted goes into a comment above it: <!-- setup declare const producer: Producer; -->',
    );
    process.exitCode = 1;
  }
  rmSync(project);
}
for (const markdown of markdownFiles()) {
  for (const target of localLinksOf(readFileSync(join(repositoryRoot, markdown), 'utf8'))) {
    if (existsSync(join(repositoryRoot, dirname(markdown), target))) continue;
    console.error(`${markdown}: links to ${target}, which is not there`);
    process.exitCode = 1;
  }
}
if (process.exitCode !== 1)
  console.log(`${extracted.length} examples in Markdown files type-check, and all links lead somewhere`);

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, listWorkspaces, repositoryRoot } from '../workspaces.ts';
import { type DocExample, examplesOf } from './examples.ts';

/** The Markdown files that people read, from the repository's root. */
export function markdownFiles(): string[] {
  return listFiles('.', '{*.md,docs/**/*.md,bench/**/*.md,packages/*/*.md,packages/*/docs/**/*.md,apps/*/*.md}');
}

export interface ExtractedExample {
  readonly example: DocExample;
  /** The Markdown file, from the repository's root. */
  readonly markdown: string;
  /** Where the example was written, an absolute path. */
  readonly file: string;
}

/**
 * Writes the TypeScript examples of every Markdown file into a folder that git ignores, inside the package that the file belongs to, so that
 * imports resolve as they would for its reader. Returns them in the files' order.
 */
export function extractExamples(folderName: string): ExtractedExample[] {
  const folders = ['.', ...listWorkspaces().map(({ folder }) => folder)];
  for (const folder of folders)
    rmSync(join(repositoryRoot, folder, '.cache', folderName), { recursive: true, force: true });
  return markdownFiles().flatMap((markdown) => {
    const owner = folders.findLast((folder) => markdown.startsWith(`${folder}/`)) ?? '.';
    const name = markdown
      .slice(owner === '.' ? 0 : owner.length + 1)
      .replaceAll('/', '-')
      .replace(/\.md$/, '');
    const target = join(repositoryRoot, owner, '.cache', folderName);
    return examplesOf(readFileSync(join(repositoryRoot, markdown), 'utf8')).map((example) => {
      mkdirSync(target, { recursive: true });
      const file = join(target, `${name}-line-${example.line}.ts`);
      writeFileSync(file, `${example.code}export {};\n`);
      return { example, markdown, file };
    });
  });
}

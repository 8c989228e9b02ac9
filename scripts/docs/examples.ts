/** A TypeScript code block of a Markdown file. */
export interface DocExample {
  /** The code, preceded by the hidden setup where there is one. */
  readonly code: string;
  /** Line of the block's first line of code in the Markdown file, from 1. */
  readonly line: number;
  /** Lines of `code` that come before the block's own: its hidden setup. */
  readonly setupLines: number;
  /** Marked with `<!-- run -->`: a test runs it, and it must end without an error. */
  readonly runs: boolean;
}

/**
 * Finds the TypeScript blocks (fenced with ```ts or ```typescript). An HTML comment directly above a block can say two things, which
 * a reader of the page does not see:
 *
 * - `<!-- run -->`: run it in the tests.
 * - `<!-- setup … -->`: code that the block takes for granted (imports, declarations), put in front of it.
 */
export function examplesOf(markdown: string): DocExample[] {
  const lines = markdown.split('\n');
  const examples: DocExample[] = [];
  let comments: string[] = [];
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    if (line.startsWith('<!--')) {
      const start = index;
      while (index < lines.length - 1 && !lines[index]!.includes('-->')) index += 1;
      const text = lines.slice(start, index + 1).join('\n');
      comments.push(text.slice('<!--'.length, text.lastIndexOf('-->')).trim());
      continue;
    }
    const fence = line.match(/^(`{3,})\s*(\w*)/);
    if (fence === null) {
      if (line.trim() !== '') comments = [];
      continue;
    }
    const start = index + 1;
    index = start;
    while (index < lines.length && !lines[index]!.startsWith(fence[1]!)) index += 1;
    if (/^(ts|typescript)$/.test(fence[2]!)) {
      const setup = comments
        .find((comment) => comment.startsWith('setup'))
        ?.slice('setup'.length)
        .trim();
      const code = lines.slice(start, index);
      examples.push({
        code: `${[...(setup === undefined ? [] : setup.split('\n')), ...code].join('\n')}\n`,
        line: start + 1,
        setupLines: setup === undefined ? 0 : setup.split('\n').length,
        runs: comments.includes('run'),
      });
    }
    comments = [];
  }
  return examples;
}

/** Turns `file.ts(12,3): error …` of the extracted file into the place in the Markdown file. */
export function placeInMarkdown(example: DocExample, extractedLine: number): number {
  return example.line + Math.max(0, extractedLine - 1 - example.setupLines);
}

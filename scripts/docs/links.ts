/** Targets of a Markdown file's links and pictures that are files of the repository, without their `#` part. Code blocks are left out. */
export function localLinksOf(markdown: string): string[] {
  const text = markdown.replaceAll(/^(`{3,})[\s\S]*?^\1/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)]
    .map(([, target]) => target!.replace(/#.*$/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target));
}

// Texts of others, in the Markdown of a run's details in Temporal's UI: it would take stars for emphasis, `>` for a quotation, tags away and the
// quotes for typographic ones, and an error has to be read as it was written.

/** In one line, cut after so many letters. */
export function quoted(message: string, longest: number): string {
  const line = message.trim().replaceAll(/\s+/g, ' ').replaceAll('`', "'")
  return line === '' ? '' : `\`${line.length <= longest ? line : `${line.slice(0, longest)}...`}\``
}

/** With its lines, as a paragraph of its own when it has several; cut after so many letters. */
export function quotedLines(message: string, longest: number): string {
  const text = message.trim()
  if (!text.includes('\n')) return ` ${quoted(text, longest)}`
  // A fence is closed by nothing shorter than itself.
  return `\n\n\`\`\`\`\`\`\n${text.slice(0, longest).replaceAll('``````', "''''''")}\n\`\`\`\`\`\``
}

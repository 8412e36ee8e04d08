// Figures as Markdown. Pure.

const MISSING = '-'

/** A table; the first column is text, all others are figures and aligned to the right. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => pad(cells[column] ?? '', width, column)).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(header), rule, ...rows.map(line)].join('\n')
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width)
}

/** Three digits, as many as a measurement is worth; all digits before the point. */
export function figure(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return MISSING
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.1))))
  return value.toFixed(digits)
}

export function seconds(ms: number | undefined): string {
  return figure(ms === undefined ? undefined : ms / 1000)
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** How many times as much `theirs` is as `ours`, e.g. `5.2x`. */
export function times(theirs: number | undefined, ours: number): string {
  return theirs === undefined ? MISSING : `${figure(theirs / ours)}x`
}

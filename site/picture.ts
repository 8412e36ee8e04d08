// Draws the coloured output of a command as a picture (SVG) of a terminal that is 150 columns wide:
// script -qec 'pawl trace inst/shop' /dev/null | node site/picture.ts 'pawl trace inst/shop' > docs/guides/debug-trace.svg

import { text } from 'node:stream/consumers'

const COLUMNS = 150
/** Width of a character, height of a line, and the margin, in pixels. */
const [WIDTH, HEIGHT, MARGIN] = [7.8, 18, 16]
const CLASSES: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y' }
const STYLE =
  'text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dae0;white-space:pre}' +
  '.b{font-weight:bold}.d{fill:#8b929e}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}'

/** Text of one colour; the class is empty for the default colour. */
interface Span {
  readonly text: string
  readonly colour: string
}

const [command = ''] = process.argv.slice(2)
const output = (await text(process.stdin)).replaceAll('\r', '').trimEnd()
process.stdout.write(draw([`\u001b[2m$\u001b[0m ${command}`, ...output.split('\n')].flatMap(rowsOf)))

function draw(rows: readonly (readonly Span[])[]): string {
  const columns = Math.max(...rows.map((row) => row.reduce((sum, { text }) => sum + text.length, 0)))
  const [width, height] = [Math.ceil(columns * WIDTH + 2 * MARGIN), rows.length * HEIGHT + 54]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal with the output of ${escapeText(command)}">`,
    `<style>${STYLE}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#161b22"/>`,
    '<g fill="#484f58"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>',
    ...rows.flatMap((row, index) => drawRow(row, index * HEIGHT + 50)),
    '</svg>\n',
  ].join('\n')
}

/** The rows of a line, which the terminal wraps. A code that CLASSES lacks ends the colour. */
function rowsOf(line: string): readonly (readonly Span[])[] {
  const rows: Span[][] = [[]]
  let [column, colour] = [0, '']
  for (const part of line.split(/(\u001b\[\d+m)/)) {
    const code = /^\u001b\[(\d+)m$/.exec(part)?.[1]
    if (code !== undefined) colour = CLASSES[code] ?? ''
    for (let rest = code === undefined ? part : ''; rest !== '';) {
      if (column === COLUMNS) [column] = [0, rows.push([])]
      const text = rest.slice(0, COLUMNS - column)
      rows.at(-1)?.push({ text, colour })
      column += text.length
      rest = rest.slice(text.length)
    }
  }
  return rows
}

function drawRow(row: readonly Span[], y: number): readonly string[] {
  let column = 0
  return row.flatMap(({ text, colour }) => {
    const x = (MARGIN + (column + text.length - text.trimStart().length) * WIDTH).toFixed(1)
    column += text.length
    const shown = text.trim()
    if (shown === '') return []
    const attributes = `${colour && ` class="${colour}"`} textLength="${(shown.length * WIDTH).toFixed(1)}"`
    return `<text x="${x}" y="${y}"${attributes} lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escapeText(shown)}</text>`
  })
}

function escapeText(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

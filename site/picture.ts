// Draws the coloured output of a command as a picture (SVG) of a terminal:
// script -qec 'pawl why inst/shop' /dev/null | node site/picture.ts 'pawl why inst/shop' > docs/guides/debug-why.svg

import { text } from 'node:stream/consumers'

/** Width of a character and height of a line, in pixels. */
const [WIDTH, HEIGHT, MARGIN] = [7.8, 18, 16]
const CLASSES: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y' }
const STYLE =
  'text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dae0;white-space:pre}' +
  '.b{font-weight:bold}.d{fill:#8b929e}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}'

const [command = ''] = process.argv.slice(2)
const output = (await text(process.stdin)).replaceAll('\r', '').trimEnd()
process.stdout.write(draw([`\u001b[2m$\u001b[22m ${command}`, ...output.split('\n')]))

function draw(lines: readonly string[]): string {
  const columns = Math.max(...lines.map((line) => line.replaceAll(/\u001b\[[\d;]*m/g, '').length))
  const [width, height] = [Math.ceil(columns * WIDTH + 2 * MARGIN), lines.length * HEIGHT + 54]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal with the output of ${escaped(command)}">`,
    `<style>${STYLE}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#161b22"/>`,
    '<g fill="#484f58"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>',
    ...lines.flatMap((line, index) => drawLine(line, index * HEIGHT + 50)),
    '</svg>\n',
  ].join('\n')
}

/** One element for each run of characters of the same colour. Codes other than those of CLASSES end all colours. */
function drawLine(line: string, y: number): readonly string[] {
  let [column, classes] = [0, new Set<string>()]
  return line.split(/(\u001b\[[\d;]*m)/).flatMap((part) => {
    const codes = /^\u001b\[([\d;]*)m$/.exec(part)?.[1]
    if (codes !== undefined) {
      const added = codes.split(';').map((code) => CLASSES[code])
      classes = added.includes(undefined) ? new Set() : new Set([...classes, ...(added as string[])])
      return []
    }
    const start = column + part.length - part.trimStart().length
    column += part.length
    const shown = part.trim()
    if (shown === '') return []
    const named = classes.size === 0 ? '' : ` class="${[...classes].join(' ')}"`
    const length = `textLength="${(shown.length * WIDTH).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`
    return `<text x="${(MARGIN + start * WIDTH).toFixed(1)}" y="${y}"${named} ${length} xml:space="preserve">${escaped(shown)}</text>`
  })
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

// A table as kubectl prints it: columns as wide as their widest cell, three blanks between them. Pure.

import { type Colour, type Paint, shown } from './texts.ts'

export type Cell = string | { readonly text: string; readonly colour: Colour }

/** @param rows of as many cells as the header has. */
export function tableText(header: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): string {
  const texts = rows.map((row) => row.map(textOf))
  const widths = header.map((title, column) =>
    texts.reduce((most, row) => Math.max(most, (row[column] ?? '').length), title.length),
  )
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, column) => {
        const text = textOf(cell)
        const blanks = ' '.repeat(column === header.length - 1 ? 0 : (widths[column] ?? 0) - text.length)
        return `${typeof cell === 'string' ? text : paint(cell.colour, text)}${blanks}`
      })
      .join('   ')
      .trimEnd()
  return [header, ...rows].map((cells) => `${line(cells)}\n`).join('')
}

function textOf(cell: Cell): string {
  return shown(typeof cell === 'string' ? cell : cell.text, 200)
}

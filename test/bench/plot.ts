// A small line plot as SVG: panels side by side with the same logarithmic axis of x. Pure.

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Panel {
  readonly title: string
  readonly points: readonly Point[]
}

const [WIDTH, HEIGHT] = [360, 260]
const MARGIN = { left: 56, right: 16, top: 36, bottom: 44 }
const TICKS = 4

/** y begins at 0, so that what looks flat is flat. @throws without points, or with an x that has no logarithm. */
export function plotSvg(panels: readonly Panel[], xTitle: string): string {
  const body = panels.map(
    (panel, index) => `<g transform="translate(${index * WIDTH} 0)">${drawPanel(panel, xTitle)}</g>`,
  )
  const width = panels.length * WIDTH
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT}" width="${width}" height="${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${HEIGHT}" fill="#fff"/>`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

function drawPanel({ title, points }: Panel, xTitle: string): string {
  const xs = points.map(({ x }) => x)
  if (xs.length === 0 || xs.some((x) => x <= 0)) throw new Error(`plot of ${title}: expected points with x above 0`)
  const [first, last, top] = [Math.min(...xs), Math.max(...xs), ceiling(Math.max(...points.map(({ y }) => y)))]
  const right = WIDTH - MARGIN.right
  const bottom = HEIGHT - MARGIN.bottom
  const toX = (x: number) =>
    round(MARGIN.left + (first === last ? 0.5 : Math.log(x / first) / Math.log(last / first)) * (right - MARGIN.left))
  const toY = (y: number) => round(bottom - (y / top) * (bottom - MARGIN.top))
  const levels = Array.from({ length: TICKS + 1 }, (_, index) => (top * index) / TICKS)
  return [
    text(WIDTH / 2, 20, title, 'middle'),
    text(WIDTH / 2, HEIGHT - 8, xTitle, 'middle'),
    ...levels.map(
      (level) =>
        `<line x1="${MARGIN.left}" y1="${toY(level)}" x2="${right}" y2="${toY(level)}" stroke="#ddd"/>${text(MARGIN.left - 6, toY(level) + 4, String(round(level)), 'end')}`,
    ),
    ...xs.map((x) => text(toX(x), bottom + 16, String(x), 'middle')),
    `<polyline fill="none" stroke="#0969da" stroke-width="2" points="${points.map(({ x, y }) => `${toX(x)},${toY(y)}`).join(' ')}"/>`,
    ...points.map(({ x, y }) => `<circle cx="${toX(x)}" cy="${toY(y)}" r="3" fill="#0969da"/>`),
  ].join('\n')
}

/** The next of 1, 2, 5, 10, ... */
function ceiling(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value
}

function text(x: number, y: number, content: string, anchor: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escaped}</text>`
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

// Formats the last lines of a log for a terminal: JSON lines of Pawl become text, with stacks on separate lines. Lines
// of other servers stay unchanged.

const LEVELS: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}

const LINES = 15
// The errors of a bundler's report are at its end.
const REPORT = /^[^]*?\n(?=ERROR in )/
// Stack frames of packages and of Node; the relevant frames are above them.
const FOREIGN_FRAME = /^\s+at .*(?:node_modules|node:|<anonymous>)/

/** The end of a log. Errors have their complete message, and only stack frames of the user's code. */
export function readableLog(text: string): string {
  const lines = text.trimEnd().split('\n')
  return lines
    .filter((line) => !FOREIGN_FRAME.test(line))
    .slice(-LINES)
    .map((line) => inWords(line) ?? line)
    .join('\n')
}

function inWords(line: string): string | undefined {
  const fields = fieldsOf(line)
  if (fields === undefined) return undefined
  const { level, time, msg, ...rest } = fields
  const at = new Date(Number(time)).toISOString().slice(11, 19)
  const others = Object.entries(rest).filter(([key]) => key !== 'name')
  const fieldLines = others.map(([key, value]) => `\n    ${key}: ${indented(plain(value))}`)
  const message = String(msg).replace(REPORT, '')
  return `${at} ${LEVELS[Number(level)] ?? String(level)}: ${withoutFrames(message)}${fieldLines.join('')}`
}

/** The fields of a pino line; undefined for other lines. */
function fieldsOf(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{"level":')) return undefined
  try {
    const fields = JSON.parse(line) as Readonly<Record<string, unknown>>
    return typeof fields['level'] === 'number' && typeof fields['time'] === 'number' ? fields : undefined
  } catch {
    return undefined
  }
}

/** The stack of an error starts with its message. */
function plain(value: unknown): string {
  if (typeof value === 'string') return value
  const { stack } = (typeof value === 'object' && value !== null ? value : {}) as { readonly stack?: unknown }
  return typeof stack === 'string' ? stack : JSON.stringify(value)
}

function indented(text: string): string {
  return withoutFrames(text).replaceAll('\n', '\n      ')
}

function withoutFrames(text: string): string {
  const lines = text.split('\n')
  return lines.filter((line) => !FOREIGN_FRAME.test(line)).join('\n')
}

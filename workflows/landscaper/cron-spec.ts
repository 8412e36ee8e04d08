// Validates the syntax of a cron specification; cron-times.ts computes its times. Pure.
// Source: robfig/cron v3, ParseStandard, which Landscaper uses for `cronSpec`: five fields or a descriptor, optionally with a time zone.

interface FieldForm {
  readonly name: string
  readonly least: number
  readonly most: number
  /** Names of the numbers, starting with `least`. */
  readonly names?: readonly string[]
}

const FIELDS: readonly FieldForm[] = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of month', least: 1, most: 31 },
  {
    name: 'month',
    least: 1,
    most: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', least: 0, most: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]
const DESCRIPTORS: readonly string[] = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
const EVERY = /^@every [+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/
const ZONE = /^(?:CRON_)?TZ=(\S*)\s+(.*)$/s
// Longer texts are rejected without parsing.
const LONGEST = 1000

/** The defect that the text has, for messages; undefined for a valid specification. */
export function cronProblem(text: string): string | undefined {
  if (text.length > LONGEST) return `${text.length} characters`
  const [, zone, rest] = ZONE.exec(text) ?? []
  if (zone !== undefined && !isTimeZone(zone)) return 'a time zone that is unknown'
  const spec = (rest ?? text).trim()
  if (spec.startsWith('@'))
    return DESCRIPTORS.includes(spec) || EVERY.test(spec) ? undefined : 'a descriptor that is unknown'
  const words = spec.split(/\s+/).filter((word) => word !== '')
  if (words.length !== FIELDS.length) return words.length === 1 ? '1 field' : `${words.length} fields`
  const wrong = FIELDS.find((form, index) => !isField(words[index] ?? '', form))
  return wrong === undefined ? undefined : `no value of the field ${wrong.name}`
}

function isTimeZone(zone: string): boolean {
  return zone === 'Local' || zone === '' || /^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+)*$/.test(zone)
}

function isField(word: string, form: FieldForm): boolean {
  return word.split(',').every((part) => isRange(part, form))
}

/** `*`, `?`, `3`, `3-5`, `mon-fri`, each optionally followed by `/step`. */
function isRange(part: string, form: FieldForm): boolean {
  const [range = '', step, ...more] = part.split('/')
  if (more.length > 0 || !isStep(step)) return false
  return range === '*' || range === '?' || isSpan(range, form)
}

function isStep(step: string | undefined): boolean {
  return step === undefined || (isNumber(step) && Number(step) > 0)
}

function isSpan(range: string, { least, most, names = [] }: FieldForm): boolean {
  const [low = NaN, high = low, ...more] = range.split('-').map((end) => numberOf(end, least, names))
  // NaN compares false with every number.
  return more.length === 0 && least <= low && low <= high && high <= most
}

function isNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text)
}

function numberOf(text: string, least: number, names: readonly string[]): number {
  const index = names.indexOf(text.toLowerCase())
  if (index >= 0) return index + least
  return isNumber(text) ? Number(text) : NaN
}

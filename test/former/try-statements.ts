// Sends recorded statements with generated values to journals of two versions, and finds statements that only the older
// journal accepts. So the test detects missing columns, and also new requirements of the newer journal: a not-null
// constraint, a check, a key.
//
//   V1. Values depend on the type, and on the column name where the column accepts only certain words. All texts are
//       equal, so that a statement finds the rows that another statement has created.
//   V2. Each statement runs with all values, and once per value with this value replaced by null. If the older journal
//       accepts the null, the newer one must accept it.
//   V3. Each statement runs in a journal with rows of ended jobs, in one with rows of open jobs, and in an empty one.
//   V4. Each set of statements runs in one transaction that is rolled back, so the journals stay empty.

import pg from 'pg'

export interface Refusal {
  readonly statement: string
  /** The name of the value that is null; undefined if no value is null. */
  readonly without: string | undefined
  /** The error of the newer journal. */
  readonly reason: string
}

export interface Outcome {
  readonly refusals: readonly Refusal[]
  /** Statements that the older journal refuses with all generated values, so the comparison says nothing about them. */
  readonly unknown: readonly string[]
  /** Statements that have returned or changed a row. */
  readonly inFlightRuns: ReadonlySet<string>
}

interface Try {
  readonly statement: string
  readonly without: string | undefined
  readonly values: readonly unknown[]
}

const OPEN: Readonly<Record<string, null>> = { outcome: null, finished_at: null }
const FLAVOURS = [{}, OPEN, undefined] as const

export async function tryStatements(
  statements: readonly string[],
  formerUrl: string,
  newestUrl: string,
): Promise<Outcome> {
  const [former, newest] = [new pg.Client(formerUrl), new pg.Client(newestUrl)]
  await Promise.all([former.connect(), newest.connect()])
  try {
    const types = new Map<string, readonly string[]>()
    for (const statement of statements) types.set(statement, await parameterTypes(former, statement))
    const all = statements.map((statement) => ({
      statement,
      values: new Values(statement, types.get(statement) ?? []),
    }))
    const tries = all.flatMap(triesOf)
    const compared: Compared[] = []
    for (const flavour of FLAVOURS) {
      const first = flavour === undefined ? [] : seeds(all, flavour)
      const [before, now] = await Promise.all([tryAll(former, tries, first), tryAll(newest, tries, first)])
      compared.push(...tries.map((one, index) => ({ ...one, before: before[index] ?? NONE, now: now[index] ?? NONE })))
    }
    return outcomeOf(compared)
  } finally {
    await Promise.all([former.end(), newest.end()])
  }
}

interface Compared extends Try {
  readonly before: Answer
  readonly now: Answer
}

const NONE: Answer = { rows: 0, error: 'it was not tried' }

function outcomeOf(compared: readonly Compared[]): Outcome {
  const refusals = compared.flatMap(({ statement, without, before, now }) =>
    before.error === undefined && now.error !== undefined ? [{ statement, without, reason: now.error }] : [],
  )
  const whole = compared.filter(({ without }) => without === undefined)
  const known = new Set(whole.flatMap(({ statement, before }) => (before.error === undefined ? [statement] : [])))
  const unknown = whole.flatMap(({ statement, before }) =>
    known.has(statement) ? [] : [`${before.error}: ${statement}`],
  )
  const inFlightRuns = compared.filter(({ before }) => before.rows > 0).map(({ statement }) => statement)
  return { refusals, unknown, inFlightRuns: new Set(inFlightRuns) }
}

async function parameterTypes(client: pg.Client, statement: string): Promise<readonly string[]> {
  await client.query(`prepare former as ${statement}`)
  const { rows } = await client.query<{ types: string[] }>(
    "select parameter_types::text[] as types from pg_prepared_statements where name = 'former'",
  )
  await client.query('deallocate former')
  return rows[0]?.types ?? []
}

interface Sent {
  readonly statement: string
  readonly values: Values
}

/** Statements that would delete or end rows that other statements need. */
const ENDING = /\bdelete from\b|lease_owner = null|set "?outcome"? =/i

/**
 * Statements that create the initial rows, twice, because some need rows that others create. Each statement has two
 * variants: with the null values of `flavour`, and with all values in case the first variant is refused.
 */
function seeds(all: readonly Sent[], flavour: Readonly<Record<string, null>>): readonly (readonly Try[])[] {
  const making = all.filter(({ statement }) => /\b(insert into|update)\b/i.test(statement) && !ENDING.test(statement))
  return [...making, ...making].map(({ statement, values }) =>
    [flavour, {}].map((given) => ({ statement, without: undefined, values: values.all(given) })),
  )
}

function triesOf({ statement, values }: Sent): readonly Try[] {
  return [
    { statement, without: undefined, values: values.all({}) },
    ...values.names.map((without) => ({ statement, without, values: values.all({ [without]: null }) })),
  ]
}

interface Answer {
  readonly rows: number
  readonly error: string | undefined
}

async function tryAll(
  client: pg.Client,
  tries: readonly Try[],
  first: readonly (readonly Try[])[],
): Promise<readonly Answer[]> {
  await client.query('begin')
  try {
    for (const ways of first) await keepFirst(client, ways)
    const answers: Answer[] = []
    for (const one of tries) answers.push(await tryOne(client, one, 'taken back'))
    return answers
  } finally {
    await client.query('rollback')
  }
}

async function keepFirst(client: pg.Client, ways: readonly Try[]): Promise<void> {
  for (const way of ways) if ((await tryOne(client, way, 'kept')).error === undefined) return
}

async function tryOne(client: pg.Client, { statement, values }: Try, end: 'kept' | 'taken back'): Promise<Answer> {
  await client.query('savepoint before')
  try {
    const { rowCount } = await client.query(statement, [...values])
    await client.query(end === 'kept' ? 'release savepoint before' : 'rollback to savepoint before')
    return { rows: rowCount ?? 0, error: undefined }
  } catch (error) {
    await client.query('rollback to savepoint before')
    return { rows: 0, error: error instanceof Error ? error.message : 'no error' }
  }
}

const ROWS = /json_to_recordset\(\$(\d+)::json\) as \w+\(([^)]*)\)/g
const INSERTED = /insert into "?\w+"?(?: as \w+)?\s*\(([^)]*)\)\s*values\s*\(([^)]*)\)/g

/**
 * The generated values of one statement, by name: the parameter (`$3`), the column of an insert, or a column of a
 * parameter that is a list of rows.
 */
class Values {
  readonly #types: readonly string[]
  readonly #rows = new Map<number, ReadonlyMap<string, string>>()
  readonly #columns = new Map<number, string>()

  constructor(statement: string, types: readonly string[]) {
    this.#types = types
    for (const [, parameter = '', columns = ''] of statement.matchAll(ROWS))
      this.#rows.set(Number(parameter), new Map(columns.split(',').map(columnOf)))
    for (const [, columns = '', values = ''] of statement.matchAll(INSERTED)) {
      const names = columns.split(',').map((name) => name.trim().replaceAll('"', ''))
      for (const [index, value] of values.split(',').entries()) {
        const [, parameter] = /^\s*\$(\d+)\s*$/.exec(value) ?? []
        if (parameter !== undefined) this.#columns.set(Number(parameter), names[index] ?? '')
      }
    }
  }

  get names(): readonly string[] {
    return this.#types.flatMap((_, index) => [...(this.#rows.get(index + 1)?.keys() ?? [this.#nameOf(index + 1)])])
  }

  all(instead: Readonly<Record<string, null>>): readonly unknown[] {
    return this.#types.map((type, index) => {
      const columns = this.#rows.get(index + 1)
      if (columns === undefined) return valueOf(this.#nameOf(index + 1), type, instead)
      const row = [...columns].map(([name, of]) => [name, valueOf(name, of, instead)])
      return JSON.stringify([Object.fromEntries(row)])
    })
  }

  #nameOf(parameter: number): string {
    return this.#columns.get(parameter) ?? `$${parameter}`
  }
}

function columnOf(text: string): [name: string, type: string] {
  const [, name = '', type = ''] = /^\s*"?(\w+)"?\s+(.*?)\s*$/s.exec(text) ?? []
  return [name, type]
}

// Has the prefix that the journal requires of the lease owner of a wake (0006_fence_former_runs).
const TEXT = 'runs 2 x'
/** Values of columns that accept only certain words. */
const WORDS: Readonly<Record<string, string>> = { type: 'ADDED', source: 'watch', outcome: 'wake', what: 'bug' }
const AT = '2026-01-01T00:00:00Z'

function valueOf(name: string, type: string, instead: Readonly<Record<string, null>>): unknown {
  if (name in instead) return null
  if (type.endsWith('[]')) return [valueOf(name, type.slice(0, -2), {})]
  switch (type) {
    case 'text':
      return WORDS[name] ?? TEXT
    case 'boolean':
      return true
    case 'json':
    case 'jsonb':
      return '[]'
    case 'timestamptz':
    case 'timestamp with time zone':
      return AT
    default:
      return 1
  }
}

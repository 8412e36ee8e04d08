// docs/reference/api.md is true to the code: each question with its fields and the form of its answer, each error, each flag.

import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { API_FLAGS } from '../../worker/api/flags.ts'
import { type Input, inputOf } from '../../worker/api/input.ts'
import { aboutIn, ABOUT_PATH, answerText, ASK_PATH, WIRE_FORMATS } from '../../worker/api/wire.ts'
import { firstColumn, section } from './markdown.ts'

const read = async (path: string) => await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = await read('docs/reference/api.md')
const rowsOf = (heading: string) =>
  section(page, heading)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('|---'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .slice(1)

/** The inputs that a query may read, with an example of each. */
const READS = {
  text: ['text', 'x'],
  maybeText: ['text, optional', 'x'],
  texts: ['texts', ['x']],
  counts: ['counts', [1]],
  time: ['time', new Date(0)],
  maybeTime: ['time, optional', new Date(0)],
  maybeCount: ['count, optional', 1],
} as const satisfies Readonly<Record<keyof Input, readonly [string, unknown]>>

const isRead = (name: PropertyKey): name is keyof Input => Object.hasOwn(READS, name)

/** The fields that it reads, as the page writes them, sorted. */
function fieldsOf(args: (input: Input) => unknown): readonly string[] {
  const fields: string[] = []
  const recording = new Proxy(inputOf({}), {
    get: (_input, name) => (field: string) => {
      if (!isRead(name)) throw new Error(`a question reads by ${String(name)}, which this test does not know`)
      fields.push(`\`${field}\` (${READS[name][0]})`)
      return READS[name][1]
    },
  })
  args(recording)
  return fields.sort()
}

const FORMS = {
  row: / or null$/,
  rows: /^list/,
  'row by uid': /^by uid one /,
  'rows by uid': /^by uid a list/,
} as const

describe('the page on the questions of pawl api', () => {
  it('has each question, with its fields and the form of its answer', () => {
    const table = rowsOf('## The questions').map(([, question, fields, answer]) => [question, fields, answer])
    expect(table.map(([question, fields = '']) => [question, fields.match(/`\w+` \([^)]*\)/g)?.sort() ?? []])).toEqual(
      Object.entries(WIRE_FORMATS).map(([name, { args }]) => [`\`${name}\``, fieldsOf(args)]),
    )
    for (const [index, { answer }] of Object.values(WIRE_FORMATS).entries())
      expect(table[index]?.[2]).toMatch(FORMS[answer[0]])
  })

  it('has the times of each answer among the fields of its rows', () => {
    const rows = new Map(rowsOf('## Rows').map(([, row = '', fields = '']) => [row, fields]))
    for (const [, question = '', , answer = '', what = ''] of rowsOf('## The questions')) {
      const [, row] = /\[(\w+?)s?\]\(#rows\)/.exec(answer) ?? []
      const [, ...times] = Object.entries(WIRE_FORMATS).find(([name]) => `\`${name}\`` === question)?.[1].answer ?? []
      for (const time of times) expect(row === undefined ? what : rows.get(row)).toContain(`\`${time}\``)
    }
    const about = { version: '1', cluster: 'c', username: 'u', groups: [], at: new Date() }
    expect([...(rows.get('about') ?? '').matchAll(/`(\w+)`/g)].map(([, field]) => field)).toEqual(
      Object.keys(aboutIn(JSON.parse(answerText(about)))).sort(inOrderOf(Object.keys(about))),
    )
  })

  it('has each error that is answered, and no other', async () => {
    const source = await read('worker/api/server.ts')
    const codes = [...source.matchAll(/new Failure\(\s*(\d+),\s*'(\w+)'/g)].map(
      ([, code, reason]) => `${code} \`${reason}\``,
    )
    expect(rowsOf('## Errors').map(([, code, reason]) => `${code} ${reason}`)).toEqual([...new Set(codes)].sort())
    expect(codes.length).toBeGreaterThan(7)
  })

  it('names the paths, and flags that there are', () => {
    expect(section(page, '## A request')).toContain(`\`POST ${ASK_PATH}QUESTION\``)
    expect(section(page, '## A request')).toContain(`\`POST ${ABOUT_PATH}\``)
    const flags = [...page.matchAll(/`--([a-z-]+)`/g)].map(([, flag = '']) => flag)
    expect(flags.filter((flag) => !Object.hasOwn(API_FLAGS, flag))).toEqual([])
    expect(firstColumn(page)).toHaveLength(Object.keys(WIRE_FORMATS).length)
  })
})

function inOrderOf(names: readonly string[]) {
  return (left: string, right: string) => names.indexOf(left) - names.indexOf(right)
}

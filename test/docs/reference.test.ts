import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'

import { findProgram } from '../../worker/program.ts'
import { createProgram } from '../../worker/cli/command-line.ts'
import { flagPages } from '../../worker/cli/flag-pages.ts'
import { forEachCommand, runProgram } from '../../worker/cli/usage.ts'
import { WINGS } from '../../workflows/wings.gen.ts'
import { documentedFlags, firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const REFERENCE = `${ROOT}/docs/reference`
const environment = await readFile(`${REFERENCE}/environment.md`, 'utf8')

let helps: ReadonlyMap<string, Help>
beforeAll(async () => {
  helps = await readHelps([])
}, 240_000)

describe('the help of a command', () => {
  it('fits a screen of 44 rows', () => {
    expect(helps.size).toBeGreaterThan(35)
    const long = [...helps].filter(([, { short }]) => rowsOf(short) > 44)
    expect(long.map(([command, { short }]) => `${command}: ${rowsOf(short)} rows`)).toEqual([])
  })

  it('has examples, unless the command is a group of commands', () => {
    const bare = [...helps].filter(([, { short }]) => !/\n(?:Examples|Commands):\n/.test(short))
    expect(bare.map(([command]) => command)).toEqual([])
  })

  it('lists all flags with --help-all, even without required arguments', () => {
    const { short = '', all = '' } = helps.get('pawl journal export') ?? {}
    expect(short).toMatch(/--help-all +display help with 7 further flags, such as\s+--temporal-namespace/)
    expect(short).not.toContain('--temporal-tls-ca')
    expect(all).toContain('--temporal-tls-ca <file>')
    expect(entries(all, 'Options:')).toEqual(expect.arrayContaining(entries(short, 'Options:')))
  })
})

describe('docs/reference', () => {
  it('has the pages of flags that `pawl gen` writes', async () => {
    const pages = await flagPages(await createProgram('--help'))
    expect(pages.size).toBe(7)
    for (const [path, text] of pages) expect(await readFile(`${ROOT}/${path}`, 'utf8'), path).toBe(text)
  })

  it('lists every command of pawl with the flags of its help', async () => {
    expect(await documented()).toEqual(sorted(offered([])))
  })

  it('lists every environment variable that the configuration reads', async () => {
    const config = await readFile(`${ROOT}/worker/server/config.ts`, 'utf8')
    const wings = Object.keys(WINGS).map((wing) => readFile(`${ROOT}/activities/${wing}/wing.ts`, 'utf8'))
    const text = [config, ...(await Promise.all(wings))].join('\n')
    const read = [...text.matchAll(/(?:text\(env, |environment\[)'([A-Z_]+)'[\])]/g)]
      .map(([, name]) => name)
      .filter((name) => name !== 'PATH')
    expect([...firstColumn(section(environment, '## Environment'))].sort()).toEqual([...new Set(read)].sort())
  })
})

/** Flags by command, e.g. `{ 'pawl dev stop': ['--data-dir <dir>'] }`; only commands that do something themselves. */
type Flags = Readonly<Record<string, readonly string[]>>

async function documented(): Promise<Flags> {
  const texts = await Promise.all(
    [...(await flagPages(await createProgram('--help'))).keys()].map((path) => readFile(`${ROOT}/${path}`, 'utf8')),
  )
  const commands = texts
    .flatMap((text) => text.match(/^## pawl.*$/gm) ?? [])
    .map((heading) => heading.slice('## '.length))
  return sorted(Object.fromEntries(commands.map((command) => [command, documentedFlags(texts, command)])))
}

function sorted(flags: Flags): Flags {
  return Object.fromEntries(Object.entries(flags).map(([command, names]) => [command, names.toSorted()]))
}

function offered(path: readonly string[]): Flags {
  const { all } = helps.get(nameOf(path)) ?? { all: '' }
  const flags = entries(all, 'Options:').filter((flag) => !flag.startsWith('-h, ') && flag !== '--help-all')
  const children = childrenIn(all)
  const below = children.map((name) => offered([...path, name]))
  const isGroup = path.length > 0 && children.length > 0 && flags.length === 0
  return Object.assign({}, isGroup ? {} : { [nameOf(path)]: flags }, ...below) as Flags
}

interface Help {
  readonly short: string
  /** With the flags that are seldom needed; the same where a command has none. */
  readonly all: string
}

/** By command, and those below it. */
async function readHelps(path: readonly string[]): Promise<ReadonlyMap<string, Help>> {
  const short = await printed([...path, '--help'])
  const all = short.includes('--help-all') ? await printed([...path, '--help-all']) : short
  const below = await Promise.all(childrenIn(short).map((name) => readHelps([...path, name])))
  return new Map([[nameOf(path), { short, all }], ...below.flatMap((one) => [...one])])
}

async function printed(args: readonly string[]): Promise<string> {
  // A program of a wing prints its own help, in a process.
  if (findProgram(args[0]) !== undefined)
    return (await promisify(execFile)(process.execPath, [`${ROOT}/worker/cli.ts`, ...args])).stdout
  const program = await createProgram(args[0])
  let text = ''
  forEachCommand(program, (command) => {
    command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 80 })
  })
  expect(await runProgram(program, args)).toBe(0)
  return text
}

function childrenIn(help: string): readonly string[] {
  const names = entries(help, 'Commands:').map((usage) => usage.split(' ')[0] ?? '')
  return names.filter((name) => name !== 'help')
}

function nameOf(path: readonly string[]): string {
  return ['pawl', ...path].join(' ')
}

/** Of a screen of 80 columns: a line that is longer takes several. */
function rowsOf(text: string): number {
  const lines = text.trimEnd().split('\n')
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0)
}

/** The left column of a part of commander's help. */
function entries(help: string, heading: string): string[] {
  const start = help.split('\n').indexOf(heading)
  if (start < 0) return []
  const lines = help.split('\n').slice(start + 1)
  const end = lines.indexOf('')
  return lines.slice(0, end < 0 ? undefined : end).flatMap((line) => /^ {2}(\S.*?)(?: {2,}.*)?$/.exec(line)?.[1] ?? [])
}

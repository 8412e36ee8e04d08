import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/operating.md`, 'utf8')

describe('the page on operating', () => {
  it('lists every command of pawl with its flags, as the help does', { timeout: 240_000 }, async () => {
    expect(documented()).toEqual(await offered([]))
  })

  it('lists every variable that the configuration reads', async () => {
    const config = await readFile(`${ROOT}/worker/server/config.ts`, 'utf8')
    const read = [...config.matchAll(/text\(env, '([A-Z_]+)'\)/g)]
      .map(([, name]) => name)
      .filter((name) => name !== 'PATH')
    expect([...firstColumn(section(page, '## Environment'))].sort()).toEqual([...new Set(read)].sort())
  })
})

/** Flags by command, e.g. `{ 'pawl dev stop': ['--data-dir <dir>'] }`; only commands that do something themselves. */
type Flags = Readonly<Record<string, readonly string[]>>

function documented(): Flags {
  const commands = section(page, '## Commands and flags').split(/^### /m).slice(1)
  return Object.fromEntries(commands.map((text) => [text.split('\n')[0]?.trim() ?? '', firstColumn(text)]))
}

async function offered(path: readonly string[]): Promise<Flags> {
  const { stdout } = await promisify(execFile)(process.execPath, [`${ROOT}/worker/cli.ts`, ...path, '--help'])
  const flags = entries(stdout, 'Options:').filter((flag) => !flag.startsWith('-h, '))
  const children = entries(stdout, 'Commands:')
    .map((usage) => usage.split(' ')[0] ?? '')
    .filter((name) => name !== 'help')
  const below = await Promise.all(children.map((name) => offered([...path, name])))
  const isGroup = path.length > 0 && children.length > 0 && flags.length === 0
  return Object.assign({}, isGroup ? {} : { [['pawl', ...path].join(' ')]: flags }, ...below) as Flags
}

/** The left column of a part of commander's help. */
function entries(help: string, heading: string): string[] {
  const start = help.split('\n').indexOf(heading)
  if (start < 0) return []
  const lines = help.split('\n').slice(start + 1)
  const end = lines.indexOf('')
  return lines.slice(0, end < 0 ? undefined : end).flatMap((line) => /^ {2}(\S.*?)(?: {2,}.*)?$/.exec(line)?.[1] ?? [])
}

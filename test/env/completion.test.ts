// Tests the scripts of `pawl completion` in real shells: the test types keys into a terminal and reads the completed
// line. The names of objects come from a journal.

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { SCRIPTS, SHELLS } from '../../worker/cli/completion.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const LIMIT_MS = 30_000

/** Command lines before and after the completion key. */
const LINES = [
  ['pawl doct', 'pawl doctor '],
  ['pawl why in', 'pawl why inst/'],
  ['kubectl-pawl why e', 'kubectl-pawl why exec/'],
  ['pawl why -n team-a inst/', 'pawl why -n team-a inst/shop '],
  ['pawl why -n team-a inst s', 'pawl why -n team-a inst shop '],
  ['pawl why --api-url https://localhost:1 in', 'pawl why --api-url https://localhost:1 inst/'],
  ['pawl graph -o sv', 'pawl graph -o svg '],
  ['pawl graph --output=sv', 'pawl graph --output=svg '],
  ['true | pawl why in', 'true | pawl why inst/'],
  ['pawl plan -f shop.y', 'pawl plan -f shop.yaml '],
] as const

let test: TestDatabase
let dir: string

beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
  const row = {
    cluster: 'local',
    api_group: 'landscaper.gardener.cloud',
    kind: 'Installation',
    uid: 'u',
    namespace: 'team-a',
    name: 'shop',
    resource_version: 9,
    seq: 9,
    owner_uid: null,
    hash: null,
    deleted: false,
    presumed_deleted: false,
    updated_at: new Date(),
    projection: '{}',
  }
  await test.db.insertInto('object').values(row).execute()
  dir = await mkdtemp(join(tmpdir(), 'pawl-completion-'))
  await Promise.all(['bin', 'functions', 'home'].map(async (name) => await mkdir(join(dir, name))))
  for (const name of ['pawl', 'kubectl-pawl']) await symlink(PAWL, join(dir, 'bin', name))
  for (const shell of SHELLS) await writeFile(join(dir, `pawl.${shell}`), SCRIPTS[shell])
  await writeFile(join(dir, 'functions/_pawl'), SCRIPTS.zsh)
  await writeFile(join(dir, 'home/shop.yaml'), '')
})
afterAll(async () => {
  await rm(dir, { recursive: true })
  await test.drop()
})

const missingBash = lacks('bash') ?? lacks('script')
const missingZsh = lacks('zsh') ?? lacks('script')
const missingFish = lacks('fish')

describe.skipIf(missingBash !== undefined)(`bash${because(missingBash)}`, () => {
  it('completes commands, flags, their values, kinds, names of objects, and files', { timeout: 90_000 }, async () => {
    const report = `report() { printf '\\n<<%s>>\\n' "$READLINE_LINE"; READLINE_LINE=; }\nbind -x '"\\C-t": report'`
    await writeFile(join(dir, 'bashrc'), `PS1='ready> '\nsource ${dir}/pawl.bash\n${report}\n`)
    expect(await typed(`bash --rcfile ${dir}/bashrc -i`)).toEqual(LINES.map(([, line]) => line))
  })
})

describe.skipIf(missingZsh !== undefined)(`zsh${because(missingZsh)}`, () => {
  it.each([
    ['that is sourced', (found: string) => `autoload -U compinit; compinit -u -D; source ${found}/pawl.zsh`],
    [
      'in a folder of functions',
      (found: string) => `fpath=(${found}/functions $fpath); autoload -U compinit; compinit -u -D`,
    ],
  ])('completes the same by a script %s', { timeout: 90_000 }, async (_where, load) => {
    const report = `report() { print -r -- ""; print -r -- "<<$BUFFER>>"; BUFFER=""; zle reset-prompt }`
    const bound = `zle -N report; bindkey '^T' report; PS1='ready> '`
    await writeFile(join(dir, 'home/.zshrc'), `${load(dir)}\n${report}\n${bound}\n`)
    expect(await typed('zsh -i')).toEqual(LINES.map(([, line]) => line))
  })
})

describe.skipIf(missingFish !== undefined)(`fish${because(missingFish)}`, () => {
  it('completes the same', () => {
    // `complete -C` prints the completions of a line without a terminal: only the completed last word.
    const asks = LINES.map(([line]) => `complete -C '${line}'`)
    const words = [`source ${dir}/pawl.fish`, ...asks].join('\n')
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', words], {
      cwd: join(dir, 'home'),
      env: environment(),
      encoding: 'utf8',
    })
    const wanted = LINES.map(([, line]) => line.trimEnd().split(' ').at(-1))
    expect({ stderr, words: stdout.trimEnd().split('\n') }).toEqual({ stderr: '', words: wanted })
  })
})

/** Types all lines into a shell in a terminal. @returns the completed lines. */
async function typed(shell: string): Promise<readonly string[]> {
  const child = spawn('script', ['-qc', shell, '/dev/null'], { cwd: join(dir, 'home'), env: environment() })
  const ended = once(child, 'exit')
  try {
    const screen = new Screen(child)
    await screen.shows(/ready> /)
    const found: string[] = []
    for (const [line] of LINES) {
      screen.type(`${line}\t\u0014`)
      found.push((await screen.shows(/<<(.*)>>/))[1] ?? '')
    }
    return found
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

class Screen {
  readonly #child: ChildProcessWithoutNullStreams
  #text = ''

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    child.stdout.on('data', (chunk: Buffer) => (this.#text += chunk.toString()))
  }

  type(keys: string): void {
    this.#child.stdin.write(keys)
  }

  /** Waits for text that matches, and discards the screen's text up to the end of the match. */
  async shows(wanted: RegExp): Promise<RegExpExecArray> {
    const found = await expect
      .poll(() => wanted.exec(this.#text), { timeout: LIMIT_MS, interval: 20, message: `shows ${String(wanted)}` })
      .not.toBeNull()
      .then(() => wanted.exec(this.#text))
    if (found === null) throw new Error(`the screen shows ${JSON.stringify(this.#text)}, expected ${String(wanted)}`)
    this.#text = this.#text.slice(found.index + found[0].length)
    return found
  }
}

/** The environment of a user with a journal and none of this machine's other settings. */
function environment(): Record<string, string> {
  const home = join(dir, 'home')
  const path = `${join(dir, 'bin')}:${process.env['PATH'] ?? ''}`
  const terminal = { TERM: 'xterm', LANG: 'C.UTF-8', HOME: home, ZDOTDIR: home }
  return { ...terminal, PATH: path, PAWL_DATABASE_URL: test.url, PAWL_CACHE: join(dir, 'cache') }
}

/** @returns the program if it is not installed, else undefined. */
function lacks(program: string): string | undefined {
  return spawnSync(program, ['--version']).error === undefined ? undefined : program
}

function because(missing: string | undefined): string {
  return missing === undefined ? '' : ` (skipped: there is no ${missing} on this machine)`
}

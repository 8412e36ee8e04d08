// Commands that run a process: mistakes in `--controllers` are reported before it starts. Each test starts a process, because
// Node loads the modules.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const CLI = resolve(import.meta.dirname, '../../../worker/cli.ts')
const PAWL = resolve(import.meta.dirname, '../../../worker/pawl.js')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-dev-controllers-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function dev(controllers: string) {
  const dataDir = join(folder, 'data')
  const command = [CLI, 'dev', '--data-dir', dataDir, '--controllers', controllers]
  const { status, stderr, stdout } = spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 30_000 })
  return {
    status,
    stdout,
    told: stderr.split('\n').find((line) => line.startsWith('pawl: ')),
    started: existsSync(dataDir),
  }
}

describe.each([
  ['bridge', ['--database-url=postgres://127.0.0.1:1/pawl']],
  ['worker', ['--database-url=postgres://127.0.0.1:1/pawl', '--temporal-address=127.0.0.1:1']],
])('pawl %s with a module of controllers', (command, flags) => {
  it('reports a module without controllers in one line and starts nothing', () => {
    const file = join(folder, 'none.mjs')
    writeFileSync(file, 'export const controllers = 3')
    const given = [...flags, '--content-key', join(folder, 'key'), '--controllers', file]
    const { status, stderr } = spawnSync(process.execPath, [CLI, command, ...given], {
      encoding: 'utf8',
      timeout: 30_000,
    })
    const told = `pawl: --controllers ${file}: \`controllers\`: found something else; export a list of values of defineLevel\n`
    expect([stderr, status]).toEqual([told, 2])
  })
})

describe('pawl bridge', () => {
  it('is one process', async () => {
    const flags = ['--database-url=postgres://127.0.0.1:1/pawl']
    const child = spawn(process.execPath, [PAWL, 'bridge', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
    const closed = once(child, 'close')
    await expect.poll(() => String(child.stderr.read()), { timeout: 30_000 }).toContain('"name":"bridge"')
    child.kill('SIGKILL')
    // The pipe closes after all processes that write to it have ended.
    expect(await closed).toEqual([null, 'SIGKILL'])
  }, 60_000)
})

describe('pawl plan list with modules of controllers', () => {
  it('reports each use of an API that passes do not have, and the alternative', () => {
    const kit = resolve(import.meta.dirname, '../../../workflows/kit/index.ts')
    const own = join(folder, 'sandbox')
    mkdirSync(own)
    writeFileSync(join(own, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(own, 'ask.ts'), 'export const ask = async (url: string) => await fetch(url)')
    const file = join(own, 'controllers.ts')
    writeFileSync(
      file,
      `import { createHash } from 'node:crypto'
import { defineLevel, nop } from '${kit}'
import { ask } from './ask.ts'
export { ask, createHash }
const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
export const controllers = [defineLevel({ name: 'shop', target, queries: {}, plan: nop })]
`,
    )
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'plan', 'list', '--controllers', file], {
      encoding: 'utf8',
    })
    const activity = 'an activity of the controller (docs/guides/own-activities.md)'
    expect([stderr, status]).toEqual([
      `pawl: --controllers: this code cannot run in the workflow sandbox
${file}:1:1: imports node:crypto, which is not available in passes; use contentHash, or ${activity}
${join(own, 'ask.ts')}:1:49: uses fetch, which is not available in passes; call it in ${activity}
`,
      1,
    ])
  })
})

describe('pawl dev with a module of controllers', () => {
  it('reports a missing module and starts nothing', () => {
    const file = join(folder, 'nowhere.ts')
    const told = `pawl: --controllers: ${file} does not exist; expected an existing file`
    expect(dev(file)).toEqual({ status: 1, stdout: '', told, started: false })
  })

  it('reports a package.json without "type": "module"', () => {
    writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
    const file = join(folder, 'controllers.ts')
    writeFileSync(file, 'export const controllers = []')
    const { told, started } = dev(file)
    expect(started).toBe(false)
    expect(told).toContain(`--controllers ${file}: cannot load the module: `)
    expect(told).toContain('; add `"type": "module"` to its package.json')
  })
})

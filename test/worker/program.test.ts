// The programs of wings, started from the command line.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { COMMANDS } from '../../activities/commands.gen.ts'
import { PROGRAMS } from '../../worker/programs.ts'
import { handlerToldOf } from '../support/chaos/waiting-handler.ts'

const WORKER = join(import.meta.dirname, '../../worker')

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-program-'))
})

afterAll(() => rm(folder, { recursive: true }))

function run(file: string, ...args: readonly string[]) {
  const env = { ...process.env, CHAOS_INJECTOR_STATE: folder, CHAOS_INJECTOR_READINESS_FILE: join(folder, 'ready') }
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(WORKER, file), ...args], {
    encoding: 'utf8',
    env,
  })
  return { status, stdout, stderr }
}

describe('the programs of wings', { timeout: 60_000 }, () => {
  it('are listed among the commands, each name once', () => {
    const { stdout } = run('cli.ts', '--help')
    const names = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name)
    expect(PROGRAMS.length).toBeGreaterThan(0)
    for (const { name } of PROGRAMS) expect(names.filter((one) => one === name)).toEqual([name])
  })

  it('are listed together with the commands of wings, under unique names', () => {
    const names = [...COMMANDS, ...PROGRAMS].map(({ name }) => name)
    expect(COMMANDS.length).toBeGreaterThan(0)
    expect(new Set(names).size).toBe(names.length)
    const { stdout } = run('cli.ts', '--help')
    for (const { name } of COMMANDS.filter(({ commands }) => commands.length > 0))
      expect(stdout.match(new RegExp(`^ {2}${name} `, 'gm'))).toHaveLength(1)
  })

  it('are listed in the error for a misspelled name', () => {
    expect(run('cli.ts', 'injecter')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('did you mean "injector"?') as string,
    })
    expect(run('program.ts', 'injecter')).toMatchObject({
      status: 2,
      stderr: `pawl: found 'injecter'; expected one of ${PROGRAMS.map(({ name }) => name).join(', ')}\n`,
    })
  })

  it.each(['cli.ts', 'program.ts'])('get their arguments unchanged from %s', (file) => {
    expect(run(file, 'injector', 'cpu-pressure', '--level', 'node', '--no', '1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('injector: --no: unknown flag; expected one of --chaos-namespace') as string,
    })
    expect(run(file, 'injector', '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Usage: pawl injector KIND') as string,
    })
  })

  it('include the injector as the command pawl-injector', () => {
    const { stdout } = run('cli.ts', 'injector', '--help')
    expect(run('pawl-injector.js', '--help')).toEqual({ status: 0, stdout, stderr: '' })
    expect(run('pawl-injector.js', 'network-disruption', '--no', '1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('injector: --no: unknown flag') as string,
    })
  })

  // The injector of the target tells the first process that the runtime has started.
  it.each([['pawl-injector.js'], ['pawl.js', 'injector']])(
    'receive messages that are sent to their first process: %s',
    async (file, ...words) => {
      const told = await handlerToldOf([join(WORKER, file), ...words])
      expect(told).toMatchObject({ code: 0, signal: null })
      expect(told.text).toContain('the pod is disturbed')
    },
  )

  it('end after SIGTERM with their own exit code', async () => {
    const args = ['injector', 'cpu-pressure', '--level', 'pod', '--target-containers', 'app;process://1', '--dry-run']
    const env = { ...process.env, CHAOS_INJECTOR_STATE: folder, CHAOS_INJECTOR_READINESS_FILE: join(folder, 'ready') }
    const child = spawn(process.execPath, [join(WORKER, 'pawl.js'), ...args], { env })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    await expect.poll(() => text, { timeout: 50_000 }).toContain('"message":"injected"')
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
    expect(text).toContain('"message":"cleaned"')
  })
})

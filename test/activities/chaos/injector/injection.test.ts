// One injection and its undo log. Source: spec/chaos.md 4.5 (D2, D6, D16), section 6 (5), Q20.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { Children } from '../../../../activities/chaos/injector/children.ts'
import {
  dryExecutor,
  type Executor,
  type Machine,
  realExecutor,
} from '../../../../activities/chaos/injector/executor.ts'
import type { Log } from '../../../../activities/chaos/injector/log.ts'
import { createInjection, type Prepared } from '../../../../activities/chaos/injector/injection.ts'
import { sweepNotes } from '../../../../activities/chaos/injector/sweep.ts'
import { UndoLog } from '../../../../activities/chaos/injector/undo-log.ts'
import type { Command } from '../../../../workflows/chaos/injector/command.ts'
import { planNodeFailure } from '../../../../workflows/chaos/injector/plan.ts'
import { HandClock } from './hand-clock.ts'

const QUIET: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const APPLY = ['a', 'b', 'c'].map((word) => own(`do-${word}`))
const UNDO = ['a', 'b', 'c'].map((word) => own(`undo-${word}`))

let folder: string
let ran: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-injection-'))
  // This /proc has no living processes, so the owner of each entry counts as killed.
  await mkdir(join(folder, 'proc/sys/kernel/random'), { recursive: true })
  await writeFile(join(folder, 'proc/sys/kernel/random/boot_id'), 'boot-1\n')
  ran = []
})

afterEach(() => rm(folder, { recursive: true }))

describe('an injection', () => {
  it('writes its undo commands to disk before the first command', async () => {
    const notes: number[] = []
    const { inject } = made({ executor: { perform: async () => void notes.push((await noted()).length) } })
    await inject(never())
    expect(notes).toEqual([1, 1, 1])
  })

  it('removes its entry after the clean-up', async () => {
    const { inject, clean } = made()
    await inject(never())
    await clean()
    expect(await noted()).toEqual([])
    expect(ran).toEqual(['do-a', 'do-b', 'do-c', 'undo-a', 'undo-b', 'undo-c'])
  })

  it('D2: ignores a second injection, and a second clean-up', async () => {
    const { inject, clean } = made()
    await inject(never())
    await inject(never())
    await clean()
    await clean()
    await inject(never())
    expect(ran).toEqual([...['do-a', 'do-b', 'do-c'], ...['undo-a', 'undo-b', 'undo-c'], ...['do-a', 'do-b', 'do-c']])
  })

  it('undoes everything after a partial injection', async () => {
    const { inject, clean } = made({ executor: executor('do-b') })
    await expect(inject(never())).rejects.toThrow('do-b: exit code 1: no')
    await clean()
    expect(ran).toEqual(['do-a', 'do-b', 'undo-a', 'undo-b', 'undo-c'])
  })

  it('stops between two commands when it is terminated', async () => {
    const ending = new AbortController()
    const { inject, clean } = made({
      executor: {
        perform: async (command) => {
          await executor().perform(command, SCOPE, never())
          ending.abort()
        },
      },
    })
    await expect(inject(ending.signal)).rejects.toThrow('the injector was stopped')
    expect(ran).toEqual(['do-a'])
    await clean()
    expect(ran).toEqual(['do-a', 'undo-a', 'undo-b', 'undo-c'])
  })

  it('keeps its entry and undoes the rest when an undo command fails', async () => {
    const { inject, clean } = made({ executor: executor('undo-a') })
    await inject(never())
    await expect(clean()).rejects.toThrow('undo-a: exit code 1: no')
    expect(ran.slice(3)).toEqual(['undo-a', 'undo-b', 'undo-c'])
    expect(await noted()).toHaveLength(1)
  })

  it('D16: executes and records nothing that the machine does not support', async () => {
    const plan = { unsupported: ['delay needs netem', 'corrupt needs netem'] }
    const { inject, clean } = made({ prepared: { plan } })
    await expect(inject(never())).rejects.toThrow('Unsupported: delay needs netem; corrupt needs netem')
    await clean()
    expect(ran).toEqual([])
    expect(await noted()).toEqual([])
  })

  it('stops its updates before the clean-up', async () => {
    let isFollowing = false
    const follow: Prepared['follow'] = async (perform, until) => {
      isFollowing = true
      await perform([own('do-more')])
      await new Promise((resolve) => until.addEventListener('abort', resolve, { once: true }))
      isFollowing = false
    }
    const { inject, clean } = made({ prepared: { plan: { apply: APPLY, undo: UNDO }, follow } })
    await inject(never())
    await expect.poll(() => ran).toContain('do-more')
    const cleaning = clean()
    await cleaning
    expect(isFollowing).toBe(false)
  })
})

describe('D15: the injection of a node failure', () => {
  const inject = async (dry: boolean) => {
    const files = { enable: join(folder, 'sysrq'), trigger: join(folder, 'trigger') }
    for (const file of Object.values(files)) await writeFile(file, '')
    const clock = new HandClock()
    await writeFile(files.enable, '0')
    const plan = planNodeFailure({ kind: 'node-failure', shutdown: false }, files, '0')
    const executor = dry ? dryExecutor(QUIET) : realExecutor({ ...machineOf(), clock })
    const { inject: arm, finish, clean } = made({ executor, prepared: { plan } })
    await arm(never())
    return {
      finish: async () => await finish(never(), () => false),
      clean,
      clock,
      read: () => Promise.all(Object.values(files).map((file) => readFile(file, 'utf8'))),
    }
  }

  it('pulls the trigger once, and never before it is enabled or after the undo', async () => {
    const { finish, clean, clock, read } = await inject(false)
    await clean()
    await finish()
    expect(await read()).toEqual(['0', ''])
    const other = await inject(false)
    const finishing = other.finish()
    await other.clock.turn(31_000)
    await finishing
    await writeFile(join(folder, 'trigger'), '')
    await other.finish()
    expect([await read(), clock.now()]).toEqual([['1', ''], 1_000_000])
  })

  it('leaves an undo log that restores the file, and no pulled trigger, when it is killed during the wait', async () => {
    const { finish, clock, read } = await inject(false)
    void finish()
    await clock.turn(30_999)
    expect(await swept()).toEqual({ undone: ['drop of app'], remaining: [] })
    expect(await read()).toEqual(['0', ''])
  })

  it('writes nothing in a dry run', async () => {
    const { finish, clean, read } = await inject(true)
    await finish()
    await clean()
    expect(await read()).toEqual(['0', ''])
  })
})

describe('the injection of a killed injector', () => {
  it.each([0, 1, 2, 3])('is undone by its entry after %d commands', async (count) => {
    const { inject } = made({ executor: killedAfter(count) })
    await Promise.race([inject(never()), killed])
    ran = []
    expect(await swept()).toEqual({ undone: ['drop of app'], remaining: [] })
    expect(ran).toEqual(['undo-a', 'undo-b', 'undo-c'])
    expect(await noted()).toEqual([])
    expect(await swept()).toEqual({ undone: [], remaining: [] })
  })

  it('is only forgotten after a reboot', async () => {
    await made().inject(never())
    await writeFile(join(folder, 'proc/sys/kernel/random/boot_id'), 'boot-2\n')
    ran = []
    expect(await swept()).toEqual({ undone: ['drop of app'], remaining: [] })
    expect(ran).toEqual([])
    expect(await noted()).toEqual([])
  })

  it('is reported and kept when it cannot be undone', async () => {
    await made().inject(never())
    expect(await swept('undo-b')).toEqual({ undone: [], remaining: ['drop of app: undo-b: exit code 1: no'] })
    expect(await noted()).toHaveLength(1)
  })

  it('is reported when its entry is unreadable', async () => {
    await writeFile(join(folder, 'broken.json'), '{"version": 1')
    expect(await swept()).toEqual({ undone: [], remaining: [`${join(folder, 'broken.json')} cannot be read`] })
  })
})

describe('the injection of a living injector', () => {
  it('is not undone by others', async () => {
    await made({ proc: '/proc' }).inject(never())
    const machine = { ...machineOf(), proc: '/proc' }
    const found = await sweepNotes({ machine, undoLog: new UndoLog(folder), log: QUIET }, () => true)
    expect(found).toEqual({ undone: [], remaining: [] })
    expect(await noted()).toHaveLength(1)
  })
})

describe('the executor', () => {
  const answering = (code: number, stderr: string) =>
    realExecutor({ ...machineOf(), run: () => Promise.resolve({ code, stdout: '', stderr }) })
  const command: Command = { do: 'run', in: 'own', argv: ['tc'], gone: [{ code: 2 }, { code: 1, says: 'no chain' }] }

  it.each([
    [0, ''],
    [2, 'whatever'],
    [1, 'iptables: no chain by that name'],
  ])('D6: takes exit code %d with "%s" for undone', async (code, stderr) => {
    await answering(code, stderr).perform(command, SCOPE, never())
  })

  it.each([
    [1, 'permission denied'],
    [4, 'no chain'],
  ])('D6: fails with exit code %d and "%s"', async (code, stderr) => {
    await expect(answering(code, stderr).perform(command, SCOPE, never())).rejects.toThrow(
      `tc: exit code ${code}: ${stderr}`,
    )
  })

  it('skips undo commands in a deleted network, and cannot inject into it', async () => {
    const scope = { key: 'k', network: { pid: 7, inode: 1 } }
    await answering(1, 'no').perform({ ...command, in: 'target' }, scope, never())
    const apply: Command = { do: 'run', in: 'target', argv: ['tc'] }
    await expect(answering(0, '').perform(apply, scope, never())).rejects.toThrow(
      'the network namespace of the target does not exist any more',
    )
  })

  it('writes existing files only', async () => {
    const path = join(folder, 'limit')
    const write: Command = { do: 'write', path, text: '254:0 10' }
    await expect(executor().perform(write, SCOPE, never())).rejects.toThrow(`write '254:0 10' to ${path}`)
    await executor().perform({ ...write, mayBeGone: true }, SCOPE, never())
    await writeFile(path, '')
    await executor().perform(write, SCOPE, never())
    expect(await readFile(path, 'utf8')).toBe('254:0 10')
  })

  it('sends no signal to another process with the same PID', async () => {
    const signal: Command = { do: 'signal', signal: 'SIGKILL', process: { pid: process.pid, startTime: '1' } }
    const real = realExecutor({ ...machineOf(), proc: '/proc' })
    await expect(real.perform(signal, SCOPE, never())).rejects.toThrow(
      `process ${process.pid}: the process does not exist`,
    )
  })
})

const SCOPE = { key: 'k', network: undefined }

interface MadeParts {
  readonly executor?: Executor
  readonly prepared?: Prepared
  readonly proc?: string
}

function made({ executor: given = executor(), prepared, proc = join(folder, 'proc') }: MadeParts = {}) {
  return createInjection({
    what: 'drop of app',
    prepare: () => Promise.resolve(prepared ?? { plan: { apply: APPLY, undo: UNDO } }),
    executor: given,
    undoLog: new UndoLog(folder),
    proc,
    pod: 'chaos-1',
    keyParts: ['uid', 'drop'],
    log: QUIET,
  })
}

/** Records the executed programs; one program fails. */
function machineOf(failing = ''): Machine {
  const proc = join(folder, 'proc')
  return {
    proc,
    clock: new HandClock(),
    children: new Children({ proc, env: {}, self: [] }),
    cluster: undefined,
    run: ([program = '']) => {
      ran.push(program)
      return Promise.resolve(
        program === failing ? { code: 1, stdout: '', stderr: 'no\n' } : { code: 0, stdout: '', stderr: '' },
      )
    },
  }
}

function executor(failing = ''): Executor {
  return realExecutor(machineOf(failing))
}

let kill: () => void
let killed: Promise<void>

/** Executes this number of commands and never returns from the next one. */
function killedAfter(count: number): Executor {
  killed = new Promise((resolve) => (kill = resolve))
  const real = executor()
  let left = count
  return {
    perform: async (command, scope, until) => {
      left -= 1
      if (left >= 0) {
        await real.perform(command, scope, until)
        return
      }
      kill()
      await new Promise<never>(() => undefined)
    },
  }
}

async function swept(failing = '') {
  return await sweepNotes({ machine: machineOf(failing), undoLog: new UndoLog(folder), log: QUIET }, () => true)
}

async function noted(): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.json'))
}

function own(program: string): Command {
  return { do: 'run', in: 'own', argv: [program] }
}

function never(): AbortSignal {
  return new AbortController().signal
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { PartDiedError, startPart } from '../../../worker/dev/part.ts'
import { isRunning, type ProcessIdentity } from '../../../worker/server/process-identity.ts'
import { startGroup } from '../../../worker/dev/group.ts'
import { scratchFolder, script } from './scratch.ts'

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

describe('a server process', () => {
  it('is ready when its check succeeds, and gone after stop', async () => {
    const dir = await scratchFolder()
    const command = await script(join(dir, 'server'), `touch ${dir}/serving; exec sleep 60`)
    const part = await startPart({
      name: 'server',
      command,
      args: [],
      logFile: join(dir, 'log'),
      isReady: () => exists(join(dir, 'serving')),
    })
    expect(isRunning(part.identity)).toBe(true)
    await part.stop()
    expect(isRunning(part.identity)).toBe(false)
  })

  it('is killed when it ignores SIGTERM', async () => {
    const dir = await scratchFolder()
    const command = await script(join(dir, 'server'), `trap '' USR1; touch ${dir}/serving; while :; do sleep 0.1; done`)
    const spec = {
      name: 'server',
      command,
      args: [],
      logFile: join(dir, 'log'),
      stopSignal: 'SIGUSR1' as const,
      stopLimitMs: 50,
    }
    const part = await startPart({ ...spec, isReady: () => exists(join(dir, 'serving')) })
    await part.stop()
    expect(isRunning(part.identity)).toBe(false)
  })

  it('that ends before it is ready gives an error with its last log lines', async () => {
    const dir = await scratchFolder()
    const command = await script(join(dir, 'server'), 'echo first; echo address already in use >&2; exit 3')
    const start = startPart({
      name: 'server',
      command,
      args: [],
      logFile: join(dir, 'log'),
      isReady: () => Promise.resolve(false),
    })
    await expect(start).rejects.toThrow(
      /^server ended with exit code 3; last lines of .*log:\nfirst\naddress already in use$/,
    )
  })

  it('whose program is missing gives an error that names the program', async () => {
    const dir = await scratchFolder()
    const start = startPart({ name: 'server', command: join(dir, 'nothing'), args: [], logFile: join(dir, 'log') })
    await expect(start).rejects.toThrow(/^server could not be started: spawn .*nothing ENOENT/)
  })
})

describe('a group of server processes', () => {
  it('without restarts reports a process that dies', async () => {
    const dir = await scratchFolder()
    const group = await startGroup()
    const command = await script(
      join(dir, 'server'),
      `while [ ! -e ${dir}/go ]; do sleep 0.01; done; echo out of memory; exit 9`,
    )
    await startPart({ name: 'server', command, args: [], logFile: join(dir, 'log') }, group.add)
    await writeFile(join(dir, 'go'), '')
    const failure = await group.failure
    expect(failure).toBeInstanceOf(PartDiedError)
    expect(failure.message).toContain('server ended with exit code 9')
    expect(failure.message).toContain('out of memory')
    await group.stop()
  })

  it('with restarts starts a process again that was ready, and keeps its place in the order', async () => {
    const dir = await scratchFolder()
    const lines: string[] = []
    const group = await startGroup({
      progress: (line) => lines.push(line),
      onRestart: () => Promise.resolve(),
      firstDelayMs: 1,
    })
    const spec = { name: 'server', command: 'sleep', args: ['60'], logFile: join(dir, 'log') }
    const first = await startPart(spec, group.add)
    await startPart({ ...spec, name: 'client' }, group.add)
    process.kill(first.identity.pid, 'SIGKILL')
    await expect.poll(() => lines).toEqual([`server ended with signal SIGKILL; started again (log: ${dir}/log)`])
    expect(group.parts.map((part) => [part.spec.name, isRunning(part.identity)])).toEqual([
      ['server', true],
      ['client', true],
    ])
    const [second] = group.parts
    await group.drop(second!)
    expect(isRunning(second!.identity)).toBe(false)
    await group.stop()
    expect(lines).toHaveLength(1)
  })

  it('with restarts gives up after five ends within a minute; it then keeps the logs of its folder', async () => {
    const dir = await scratchFolder()
    const lines: string[] = []
    const group = await startGroup({
      progress: (line) => lines.push(line),
      onRestart: () => Promise.resolve(),
      firstDelayMs: 1,
    })
    group.removeAtEnd(dir, ['logs'])
    await mkdir(join(dir, 'logs'))
    const logFile = join(dir, 'logs', 'log')
    const command = await script(join(dir, 'server'), 'echo no memory; sleep 0.05; exit 9')
    await startPart({ name: 'server', command, args: [], logFile }, group.add)
    const { message } = await group.failure
    expect(message).toContain(`server ended with exit code 9, for the 5th time within 60 s; last lines of ${logFile}:`)
    expect(lines).toHaveLength(4)
    await group.stop('failed')
    expect(await readdir(dir)).toEqual(['logs'])
  })

  it('with restarts fails if a restart fails for another reason, such as an unwritable state file or log', async () => {
    const dir = await scratchFolder()
    const lines: string[] = []
    const restarts = { progress: (line: string) => lines.push(line), firstDelayMs: 1 }
    const ends: Error[] = []
    const failureOf = async (onRestart: () => Promise<void>, afterStart?: () => Promise<void>) => {
      const group = await startGroup({ ...restarts, onRestart })
      await mkdir(join(dir, 'logs'), { recursive: true })
      const spec = { name: 'server', command: 'sleep', args: ['60'], logFile: join(dir, 'logs', 'log') }
      const { identity } = await startPart(spec, (part) => group.add(part, (error) => ends.push(error)))
      await afterStart?.()
      process.kill(identity.pid, 'SIGKILL')
      const { message } = await group.failure
      await group.stop('failed')
      return message
    }
    expect(await failureOf(() => Promise.reject(new Error('no space left on device')))).toBe(
      'server ended with signal SIGKILL; its restart failed: no space left on device',
    )
    const withoutFolder = failureOf(
      () => Promise.resolve(),
      () => rm(join(dir, 'logs'), { recursive: true }),
    )
    expect(await withoutFolder).toMatch(/^server ended with signal SIGKILL; its restart failed: ENOENT: .*logs\/log'$/)
    expect(lines).toEqual([])
    expect(ends).toEqual([])
  })

  it('stops its processes in reverse order and removes its folders', async () => {
    const dir = await scratchFolder()
    const data = join(dir, 'data')
    await writeFile(data, '')
    const group = await startGroup()
    group.removeAtEnd(data)
    for (const name of ['one', 'two']) {
      const body = `trap 'echo ${name} >> ${dir}/stopped; exit 0' TERM; touch ${dir}/${name}.up; while :; do sleep 0.02; done`
      const spec = { name, command: await script(join(dir, name), body), args: [], logFile: join(dir, 'log') }
      await startPart({ ...spec, isReady: () => exists(join(dir, `${name}.up`)) }, group.add)
    }
    await group.stop()
    expect(await readFile(join(dir, 'stopped'), 'utf8')).toBe('two\none\n')
    expect(await exists(data)).toBe(false)
  })

  it('is cleaned up when its own process is killed', async () => {
    const dir = await scratchFolder()
    const data = join(dir, 'data')
    await writeFile(data, '')
    const program = join(dir, 'holder.ts')
    const modules = new URL('../../../worker/dev/', import.meta.url).href
    await writeFile(
      program,
      `import { startGroup } from '${modules}group.ts'
       import { startPart } from '${modules}part.ts'
       const group = await startGroup()
       group.removeAtEnd('${data}')
       const spec = { name: 'sleeper', command: 'sleep', args: ['60'], logFile: '${dir}/log' }
       const part = await startPart(spec, group.add)
       console.log(JSON.stringify(part.identity))
       setInterval(() => undefined, 1000)`,
    )
    const holder = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(holder.stdout, 'data')) as [Buffer]
    const sleeper = JSON.parse(line.toString()) as ProcessIdentity
    expect(isRunning(sleeper)).toBe(true)
    holder.kill('SIGKILL')
    await expect.poll(() => isRunning(sleeper), { timeout: 10_000 }).toBe(false)
    await expect.poll(() => exists(data), { timeout: 10_000 }).toBe(false)
  })
})

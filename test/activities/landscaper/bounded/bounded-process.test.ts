// The processes that check schemas: when they start, how much time and memory they may use, and that each process ends.

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { describeExit, startProcess } from '../../../../activities/landscaper/bounded/bounded-process.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { isSealed, sealedChildren } from './sealed-children.ts'

const ENGINE = new URL('../../../../activities/landscaper/render/engine/template-engine.ts', import.meta.url).href
const PROBE = new URL('./probe.ts', import.meta.url)
const endless = { what: 'a', schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(60)}!`, localTypes: {}, files: {} }
const quick = { ...endless, value: 'aaa' }
const fine = { problems: [], missing: [] }
const polled = { timeout: 20_000 }

const lowered = (pid: number) => getPriority(pid) === constants.priority.PRIORITY_BELOW_NORMAL

describe.runIf(process.platform === 'linux')('the process that checks schemas', () => {
  const children = () => sealedChildren(process.pid)

  it('starts for the first schema, and runs until the engine closes', async () => {
    const engine = createTemplateEngine({ threads: 1 })
    const request = { engine: 'GoTemplate', name: 'one', template: 'done', files: {}, binding: {} } as const
    expect((await engine.render(request)).output).toBe('done')
    expect(children()).toEqual([])
    expect(await engine.checkSchema(quick)).toEqual(fine)
    const first = children()
    expect(first).toHaveLength(1)
    expect(await engine.checkSchema(quick)).toEqual(fine)
    expect(children()).toEqual(first)
    await engine.close()
    expect(children()).toEqual([])
  })

  it('is stopped and replaced when a schema takes too long', async () => {
    const engine = createTemplateEngine({ threads: 1, schemaTimeoutMs: 1500 })
    await engine.checkSchema(quick)
    expect(children()).toHaveLength(1)
    await expect(engine.checkSchema(endless)).rejects.toThrow('a: not checked within 1500 ms')
    expect(children()).toEqual([])
    expect(await engine.checkSchema(quick)).toEqual(fine)
    await engine.close()
  })

  it('is stopped and replaced when a value takes too much memory', async () => {
    const engine = createTemplateEngine({ threads: 1 })
    const large = { ...quick, value: 'x'.repeat(64 * 1024 * 1024) }
    await expect(engine.checkSchema(large)).rejects.toThrow('a: its check needed more memory than it may have')
    expect(children()).toEqual([])
    expect(await engine.checkSchema(quick)).toEqual(fine)
    await engine.close()
  })

  it('is stopped when the caller cancels the check', async () => {
    const engine = createTemplateEngine({ threads: 1, schemaTimeoutMs: 600_000 })
    const ending = new AbortController()
    const check = engine.of({ namespace: 'n', signal: ending.signal }).checkSchema(endless)
    const rejected = expect(check).rejects.toBe('over')
    await expect.poll(() => children().filter(lowered).length, polled).toBe(1)
    ending.abort('over')
    await rejected
    await expect.poll(children, polled).toEqual([])
    await engine.close()
  })

  it('ignores SIGINT, SIGTERM, SIGHUP and SIGUSR1, which a whole process group may receive', async () => {
    const engine = createTemplateEngine({ threads: 1 })
    await engine.checkSchema(quick)
    const before = children()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR1'] as const) process.kill(before[0] ?? 0, signal)
    expect(await engine.checkSchema(quick)).toEqual(fine)
    expect(children()).toEqual(before)
    await engine.close()
  })

  it('reports whether it ran out of memory or crashed', async () => {
    const greedy = startProcess(PROBE, [])
    const bomb = '(() => { for (const all = []; ; ) all.push(new Array(10_000).fill(1.5)) })()'
    const running = greedy.run(JSON.stringify({ ask: 'run', code: bomb }), 20_000)
    await expect(running).rejects.toMatchObject({ reason: 'memory' })
    await expect(greedy.run(JSON.stringify({ ask: 'outcome' }), 20_000)).rejects.toMatchObject({ reason: 'crash' })
    await greedy.stop()

    const broken = startProcess(PROBE, [])
    const detail = 'exited with code 1; the worker tries again'
    await expect(broken.run('no JSON', 20_000)).rejects.toMatchObject({ reason: 'crash', detail })
    await broken.stop()
  })

  it('reports the error of a module that it cannot load', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-links-'))
    const [file, target] = [join(folder, 'start.mjs'), join(folder, 'elsewhere.mjs')]
    writeFileSync(target, '')
    writeFileSync(file, "import './elsewhere.mjs'")
    const process = startProcess(pathToFileURL(file), [])
    const detail = `exited with code 1: it may not read "${target}", because npm did not install this file into a folder "node_modules" above Pawl's code; replace links to other folders by "npm ci"`
    await expect(process.run('', 20_000)).rejects.toMatchObject({ reason: 'crash', detail })
    await process.stop()
    rmSync(folder, { recursive: true })
  })

  it.each([
    [{ code: 1, signal: null, output: 'x\nTypeError: no a\n' }, 'exited with code 1: TypeError: no a; the worker'],
    [{ code: null, signal: 'SIGKILL', output: '' } as const, 'was ended by signal SIGKILL; if the system killed it'],
  ])('describes its exit %j', (exit, text) => {
    expect(describeExit(exit)).toContain(text)
  })

  it.each([
    ['is idle', 'await engine.checkSchema(quick)'],
    ['is checking a schema', 'await engine.checkSchema(quick); void engine.checkSchema(endless).catch(() => 0)'],
  ])('ends after its worker is killed, also when it %s', async (_, work) => {
    const program = `import { createTemplateEngine } from ${JSON.stringify(ENGINE)}
      const [endless, quick] = ${JSON.stringify([endless, quick])}
      const engine = createTemplateEngine({ threads: 1, schemaTimeoutMs: 4000 })
      ${work}
      console.log('begun')
      setInterval(() => 0, 1000)`
    const worker = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise((resolve) => worker.stdout.once('data', resolve))
    const [child = 0] = sealedChildren(worker.pid ?? 0)
    expect(isSealed(child)).toBe(true)
    // It has been at work for a while: the loss of its channel is not told to it any more.
    if (work.includes('void')) await expect.poll(() => lowered(child), polled).toBe(true)
    worker.kill('SIGKILL')
    await expect.poll(() => isSealed(child), polled).toBe(false)
  })

  it('keeps the worker process alive only until it has answered and exited', () => {
    const program = `import { createTemplateEngine } from ${JSON.stringify(ENGINE)}
      const [endless, quick] = ${JSON.stringify([endless, quick])}
      const engine = createTemplateEngine()
      const hasty = engine.of({ namespace: 'n', signal: AbortSignal.timeout(500) })
      const failure = await hasty.checkSchema(endless).catch(({ name }) => name)
      console.log(failure, JSON.stringify(await engine.checkSchema(quick)))`
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: `TimeoutError ${JSON.stringify(fine)}\n` })
  })
})

// Child processes that use runProcess: how they end, and which resources they close.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const FRAME = fileURLToPath(new URL('../../../worker/server/process.ts', import.meta.url))
const USAGE = fileURLToPath(new URL('../../../worker/server/usage-error.ts', import.meta.url))

/** A process with two resources, which prints its steps and runs the body. */
function start(body: string, closing = '') {
  const code = `
    import { runProcess } from ${JSON.stringify(FRAME)}
    import { UsageError } from ${JSON.stringify(USAGE)}
    await runProcess('test', 'info', async ({ stopping, onClose }) => {
      for (const name of ['first', 'second'])
        onClose(async () => { console.log('closed ' + name); ${closing} })
      const told = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
      setInterval(() => undefined, 1000).unref()
      console.log('open')
      ${body}
    })
    console.log('over')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [printed, complained, ended] = [text(child.stdout), text(child.stderr), once(child, 'exit')]
  const end = async () => {
    const [code] = (await ended) as [number | null]
    return { code, printed: (await printed).trim().split('\n'), complained: await complained }
  }
  return { child, end }
}

describe('a process', () => {
  it('ends with its work and closes its resources in reverse order', async () => {
    const { code, printed, complained } = await start('').end()
    expect({ code, printed }).toEqual({ code: 0, printed: ['open', 'closed second', 'closed first', 'over'] })
    expect(complained).toContain('"msg":"the process has stopped"')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('closes its resources after %s', async (signal) => {
    const { child, end } = start('const alive = setInterval(() => undefined, 1000); await told; clearInterval(alive)')
    await once(child.stdout, 'readable')
    child.kill(signal)
    expect(await end()).toMatchObject({ code: 0, printed: ['open', 'closed second', 'closed first', 'over'] })
  })

  it('closes its resources after an error and prints the error', async () => {
    const { code, printed, complained } = await start("throw new Error('broken')").end()
    expect({ code, printed }).toEqual({ code: 1, printed: ['open', 'closed second', 'closed first'] })
    expect(complained).toContain('Error: broken')
  })

  it('prints a wrong flag in one line', async () => {
    const { code, printed, complained } = await start("throw new UsageError('--health-port: found 1')").end()
    expect({ code, printed }).toEqual({ code: 2, printed: ['open', 'closed second', 'closed first'] })
    expect(complained).toBe('test: --health-port: found 1\n')
  })

  it('closes the other resources if closing one fails', async () => {
    const { code, printed, complained } = await start('', "if (name === 'second') throw new Error('stuck')").end()
    expect({ code, printed }).toEqual({ code: 1, printed: ['open', 'closed second', 'closed first'] })
    expect(complained).toContain('Error: stuck')
  })
})

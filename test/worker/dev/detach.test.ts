import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { startDetached, stopDetached } from '../../../worker/dev/detach.ts'
import { scratchFolder } from './scratch.ts'

describe('pawl dev in the background', () => {
  it.each([
    ['its exit code', 'process.exitCode = 3', 'exit code 3'],
    ['the signal that ended it', "process.kill(process.pid, 'SIGKILL')", 'SIGKILL'],
  ])('reports its output and %s if it ends before it is ready', async (_, body, end) => {
    const dataDir = await scratchFolder()
    const lines: string[] = []
    const command = ['-e', `require('fs').writeSync(1, 'first\\nport 1 is taken\\n'); ${body}`]
    await expect(startDetached(dataDir, command, (line) => lines.push(line))).rejects.toThrow(
      `pawl dev ended with ${end} before all was ready; its output is above and in ${join(dataDir, 'logs/dev.log')}`,
    )
    expect(lines).toEqual(['first', 'port 1 is taken'])
  })

  it('cannot be stopped if it does not run', async () => {
    expect(await stopDetached(await scratchFolder())).toBe(false)
  })
})

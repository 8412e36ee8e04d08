import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

import { choosePorts } from '../../../worker/dev/ports.ts'
import { scratchFolder } from './scratch.ts'

describe('the ports of a data folder', () => {
  it('differ from each other', async () => {
    const ports = await choosePorts(join(await scratchFolder(), 'ports.json'), {})
    expect(new Set(Object.values(ports)).size).toBe(Object.values(ports).length)
  })

  it('stay the same at the next start', { retry: 3 }, async () => {
    const file = join(await scratchFolder(), 'ports.json')
    expect(await choosePorts(file, {})).toEqual(await choosePorts(file, {}))
  })

  // Another process may take a port meanwhile, hence the retries.
  it('change if another process took a port meanwhile', { retry: 3 }, async () => {
    const file = join(await scratchFolder(), 'ports.json')
    const before = await choosePorts(file, {})
    await occupy(before.etcd)
    const after = await choosePorts(file, {})
    expect(after.etcd).not.toBe(before.etcd)
    expect({ ...after, etcd: 0 }).toEqual({ ...before, etcd: 0 })
  })

  it("are no ephemeral ports and no node ports, and fit into Temporal's membership table", async () => {
    const ports = await choosePorts(join(await scratchFolder(), 'ports.json'), {})
    expect(Object.entries(ports).filter(([, port]) => port < 20_000 || port >= 30_000)).toEqual([])
  })

  it('fixed by the user must be free', async () => {
    const port = await occupy(0)
    const file = join(await scratchFolder(), 'ports.json')
    await expect(choosePorts(file, { temporal: port })).rejects.toThrow(
      `port ${port} for temporal is in use; choose a free port`,
    )
  })
})

async function occupy(port: number): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

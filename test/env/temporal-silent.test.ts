// A connection to a real Temporal server that becomes silent.

import { NativeConnection } from '@temporalio/worker'
import { pino } from 'pino'
import { expect, inject, it, onTestFinished } from 'vitest'

import { probeTemporal } from '../../worker/reconciler/temporal/connection.ts'
import { TcpProxy } from '../support/faults/tcp-proxy.ts'

it('a silent Temporal server is reported, and reported again when it answers', async () => {
  const proxy = await TcpProxy.to(Number(inject('servers').temporalAddress.split(':')[1]))
  const connection = await NativeConnection.connect({ address: `127.0.0.1:${proxy.port}` })
  const stop = new AbortController()
  const told: string[] = []
  const watching = {
    log: pino({ level: 'silent' }),
    probeEveryMs: 100,
    answerMs: 1000,
    report: (_: string, error: unknown) => void told.push(error instanceof Error ? error.message : 'fine'),
  }
  const end = probeTemporal(connection, watching, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await end
    await connection.close()
    await proxy.stop()
  })
  expect(proxy.fallSilent()).toBeGreaterThan(0)
  await expect.poll(() => told.length).toBeGreaterThan(0)
  expect(told[0]).not.toBe('fine')
  proxy.cutAll()
  await expect.poll(() => told.at(-1)).toBe('fine')
})

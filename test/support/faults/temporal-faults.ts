// A Temporal server for fault tests behind a TCP proxy: it can be restarted, lose all its state, take few requests, and lose connections.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, isGrpcServiceError } from '@temporalio/client'
import type { Part } from '../../../worker/dev/part.ts'
import { choosePorts } from '../../../worker/dev/ports.ts'
import { startTemporal, type TemporalOptions } from '../../../worker/dev/temporal.ts'
import type { Fault } from './fault.ts'
import { TcpProxy } from './tcp-proxy.ts'

const PER_SECOND = 5
const LIMITS = ['frontend.namespaceRPS', 'frontend.globalNamespaceRPS'].flatMap((name) => [
  '--dynamic-config-value',
  `${name}=${PER_SECOND}`,
])
// Source: google.rpc.Code.RESOURCE_EXHAUSTED.
const RESOURCE_EXHAUSTED = 8

export class OwnTemporal {
  readonly proxy: TcpProxy
  readonly #dir: string
  readonly #options: Omit<TemporalOptions, 'dir'>
  #part: Part
  #states = 0

  private constructor(dir: string, options: Omit<TemporalOptions, 'dir'>, part: Part, proxy: TcpProxy) {
    this.#dir = dir
    this.#options = options
    this.#part = part
    this.proxy = proxy
  }

  static async start(binary: string): Promise<OwnTemporal> {
    const dir = await mkdtemp(join(tmpdir(), 'pawl-temporal-'))
    const options = { binary, logDir: dir, ports: await choosePorts(join(dir, 'ports.json'), {}), ephemeral: false }
    const part = await startTemporal({ ...options, dir: join(dir, 'state-0') })
    return new OwnTemporal(dir, options, part, await TcpProxy.to(options.ports.temporal))
  }

  /** The address of the proxy. */
  get address(): string {
    return `127.0.0.1:${this.proxy.port}`
  }

  async stop(): Promise<void> {
    await this.#part.stop()
  }

  /** Starts the stopped server. @param from its last state, or an empty one. */
  async startAgain(from: 'last state' | 'empty' = 'last state', flags: readonly string[] = []): Promise<void> {
    if (from === 'empty') this.#states++
    const dir = join(this.#dir, `state-${this.#states}`)
    this.#part = await startTemporal({ ...this.#options, dir, flags })
  }

  async remove(): Promise<void> {
    await this.proxy.stop()
    await this.stop()
    await rm(this.#dir, { recursive: true })
  }
}

/** @param temporal called when a fault starts. */
export function temporalFaults(temporal: () => OwnTemporal): readonly Fault[] {
  const restart = async (flags: readonly string[] = []) => {
    await temporal().stop()
    await temporal().startAgain('last state', flags)
  }
  return [
    {
      title: 'is restarted in the middle of the job and of the deletion',
      isInStatus: true,
      least: 4,
      start: (_lane, struck) => {
        let restarting = Promise.resolve()
        return {
          // Both items are written at once: one restart for two. The worker may repeat a batch during a restart.
          disturb: async (label) => {
            if ((label === 'POST deployitems' || label === 'DELETE deployitems') && struck() % 2 === 1)
              restarting = restarting.then(async () => await restart())
            await restarting
            return undefined
          },
        }
      },
    },
    {
      title: `answers ${PER_SECOND} requests per second, and another client uses them up at each write`,
      isInStatus: true,
      least: 21,
      start: async (_lane, struck) => {
        await restart(LIMITS)
        // Without interceptors the client does not retry.
        const connection = await Connection.connect({ address: temporal().address, interceptors: [] })
        const call = async () => {
          await connection.workflowService.describeNamespace({ namespace: 'default' }).catch((error: unknown) => {
            if (!isGrpcServiceError(error) || error.code.valueOf() !== RESOURCE_EXHAUSTED) throw error
            struck()
          })
        }
        const disturb = async () => {
          await Promise.all(Array.from({ length: 4 * PER_SECOND }, call))
          return undefined
        }
        const stop = async () => {
          await connection.close()
          await restart()
        }
        return { disturb, stop }
      },
    },
    {
      title: 'is behind a network that cuts connections, and loses answers to executed requests',
      isInStatus: true,
      least: 7,
      start: (_lane, struck) => ({
        disturb: async (_label, nth) => {
          if (nth % 2 !== 0) return undefined
          const { proxy } = temporal()
          // The worker connects again after the last fault.
          while (!(nth % 4 === 0 ? proxy.loseAnswer(0) : proxy.cutOne(0))) await sleep(20)
          struck()
          return undefined
        },
      }),
    },
  ]
}

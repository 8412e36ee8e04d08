// A real Prometheus, which scrapes processes of Pawl, and loads the alert rules. Debian's has no discovery of pods.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { childEnvironment } from '../../../worker/server/config.ts'
import { freePort } from '../servers/free-port.ts'

const RULES = fileURLToPath(new URL('../../../deploy/monitoring/alerts.yaml', import.meta.url))

/** Debian's package `prometheus`, which `.ci/run` installs, has both programs. */
export const HAS_PROMETHEUS = ['prometheus', 'promtool'].every((name) => {
  return spawnSync(name, ['--version']).error === undefined
})
if (!HAS_PROMETHEUS) process.stderr.write('prometheus and promtool are not on the PATH; their tests are skipped\n')

export interface Rule {
  readonly name: string
  readonly health: 'ok' | 'err' | 'unknown'
  readonly lastError?: string
}

export class Prometheus {
  readonly #folder: string
  readonly #url: string
  readonly #child: ChildProcess

  private constructor(folder: string, url: string, child: ChildProcess) {
    this.#folder = folder
    this.#url = url
    this.#child = child
  }

  /** @param targets addresses (HOST:PORT) of the processes by job. */
  static async start(targets: Readonly<Record<string, readonly string[]>>): Promise<Prometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-prometheus-'))
    const path = join(folder, 'prometheus.yaml')
    const configuration = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
        job_name: job,
        static_configs: [{ targets: addresses }],
      })),
    }
    await writeFile(path, JSON.stringify(configuration))
    const address = `127.0.0.1:${await freePort()}`
    const args = [`--config.file=${path}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=${address}`]
    const child = spawn('prometheus', [...args, '--log.level=error'], {
      env: childEnvironment({}),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return new Prometheus(folder, `http://${address}`, child)
  }

  /** The number of series in the result. @throws an Error if Prometheus cannot evaluate the query. */
  async count(query: string): Promise<number> {
    const { result } = (await this.#get(`query?query=${encodeURIComponent(query)}`)) as { readonly result: unknown[] }
    return result.length
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = (await this.#get('rules')) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
    return groups.flatMap(({ rules }) => rules)
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    if (this.#child.exitCode === null && this.#child.kill('SIGTERM')) await ended
    await rm(this.#folder, { recursive: true })
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#url}/api/v1/${path}`)
    const { data, error } = (await response.json()) as { readonly data?: unknown; readonly error?: string }
    if (error !== undefined) throw new Error(`${decodeURIComponent(path)}: ${error}`)
    return data
  }
}

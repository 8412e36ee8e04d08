// Runs the admission rules that need the configuration or the cluster, with an API server that returns prepared objects.

import { afterEach, beforeEach } from 'vitest'

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAsyncRules } from '../../../activities/chaos/further-rules.ts'
import { disruptionKind } from '../../../workflows/chaos/disruption/kind.ts'
import {
  type AdmissionRequest,
  type AsyncRules,
  type Kind,
  type ObjectReader,
  type Problem,
} from '../../../workflows/kit/index.ts'
import { configFile } from '../../support/chaos/config-file.ts'
import { specWith } from '../../workflows/chaos/disruption/spec-cases.ts'

const NEVER = new AbortController().signal
export const HOSTS = { network: { drop: 10, hosts: [{ host: '10.0.0.0/8' }] } }
export const STOP = 'chaos.datadoghq.com/emergency-stop'

let folder: string

/** The API server of the current test. */
export const stage: {
  /** The requests: path, label selector, limit and continue token. */
  asked: string[]
  /** The objects of the API server by path; for lists, an array. */
  there: Record<string, unknown>
} = { asked: [], there: {} }

/** Registers the hooks that prepare `stage` for each test of a file. */
export function useRuleStage(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pawl-further-'))
    stage.asked = []
    stage.there = {
      '/api/v1/namespaces/shop': { metadata: { name: 'shop' } },
      '/api/v1/namespaces/chaos-engineering': { metadata: { name: 'chaos-engineering' } },
      '/api/v1/namespaces/shop/pods': pods(10),
      '/api/v1/pods': pods(100),
      '/api/v1/nodes': nodes(3),
    }
  })
  afterEach(() => rmSync(folder, { recursive: true }))
}

export const kube: ObjectReader = {
  get<Read>(path: string, { query = {} }: { readonly query?: Readonly<Record<string, string>> } = {}) {
    const { labelSelector, limit, continue: from = '0' } = query
    stage.asked.push([path, labelSelector, limit, from].filter((part) => part !== undefined && part !== '0').join(' '))
    const found = stage.there[path]
    if (!Array.isArray(found)) return Promise.resolve(found as Read | undefined)
    const end = Number(from) + Number(limit)
    const left = found.length - end
    const metadata =
      left <= 0 ? {} : { continue: String(end), ...(labelSelector === undefined && { remainingItemCount: left }) }
    return Promise.resolve({ metadata, items: found.slice(Number(from), end) } as Read)
  },
}

export function rulesBy(config?: object, nodeName?: string): AsyncRules {
  return openAsyncRules({
    kube,
    ...(nodeName !== undefined && { nodeName }),
    warn: () => undefined,
    flags: { 'chaos-config': config === undefined ? undefined : configFile(folder, config) },
  })
}

export const REQUEST = {
  namespace: 'shop',
  signal: NEVER,
  operation: 'CREATE',
  old: undefined,
  user: { name: 'alice', groups: ['dev'] },
} as const

type Request = Partial<AdmissionRequest> & {
  readonly kind?: Kind
  readonly metadata?: object
  readonly nodeName?: string
}

export async function told(
  spec: object,
  config?: object,
  { metadata = {}, nodeName, ...request }: Request = {},
): Promise<readonly string[]> {
  const object = { metadata: { name: 'game', namespace: 'shop', ...metadata }, spec: specWith(spec) }
  return fields(await rulesBy(config, nodeName).validate({ ...REQUEST, kind: disruptionKind, object, ...request }))
}

export const safeMode = (safe: object) => ({ controller: { safeMode: safe } })

export const HANDLER = { handler: { enabled: true, image: 'handler:1' } }
export const begins = (notBefore: string) => ({ ...HOSTS, triggers: { createPods: { notBefore } } })
export const in_ = (environment: string) => ({ annotations: { 'chaos.datadoghq.com/environment': environment } })
export const HOUR = { controller: { maxDuration: '1h' } }

export function fields(problems: readonly Problem[]): readonly string[] {
  return problems.map(({ field, found }) => `${field} ${found}`)
}

export function pods(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `pod-${index}`, uid: `u-${index}`, resourceVersion: '1' },
    status: { phase: 'Running' },
  }))
}

export function nodes(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}`, uid: `n-${index}`, resourceVersion: '1' },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }))
}

// Reads requests from the API server's audit log. The server writes one JSON line per request before it answers.

import { closeSync, openSync, readSync, statSync } from 'node:fs'

export interface AuditedWrite {
  /** The field manager without the prefix `pawl-`: `installation`, `execution`, `deploy`. */
  readonly writer: string
  readonly verb: string
  /** `resource[/subresource] name`. */
  readonly object: string
  readonly code: number
}

interface AuditEvent {
  readonly stage: string
  readonly verb: string
  readonly userAgent?: string
  readonly requestURI: string
  readonly user?: { readonly username?: string }
  readonly objectRef?: {
    readonly resource?: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

const WRITES = new Set(['create', 'update', 'patch', 'delete'])
// A DELETE request has no field manager. For these resources, only one controller sends DELETE requests.
const DELETERS: Readonly<Record<string, string>> = { executions: 'installation', deployitems: 'execution' }

/** The present end of the audit log: later requests are after this position. */
export function auditMark(path: string): number {
  return statSync(path).size
}

/** The writes of workers in a namespace after the mark, including rejected requests, without Kubernetes Events. */
export function auditedWrites(path: string, mark: number, namespace: string): AuditedWrite[] {
  return linesAfter(path, mark)
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ stage, verb }) => stage === 'ResponseComplete' && WRITES.has(verb))
    .filter(({ userAgent, objectRef }) => {
      return userAgent === 'pawl-worker' && objectRef?.namespace === namespace && objectRef.resource !== 'events'
    })
    .map(({ verb, requestURI, objectRef: { resource = '', subresource, name = '' } = {}, responseStatus }) => {
      const manager = new URL(requestURI, 'http://localhost').searchParams.get('fieldManager')
      return {
        writer: manager?.replace('pawl-', '') ?? DELETERS[resource] ?? 'unknown',
        verb,
        object: `${resource}${subresource === undefined ? '' : `/${subresource}`} ${name}`,
        code: responseStatus?.code ?? 0,
      }
    })
}

/** The reads of workers after the mark, without watches: verb and URI. */
export function auditedReads(path: string, mark: number): string[] {
  return linesAfter(path, mark)
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ stage, verb, userAgent }) => {
      return stage === 'ResponseComplete' && userAgent === 'pawl-worker' && (verb === 'get' || verb === 'list')
    })
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`)
}

/** The number of create requests of an account for a resource after the mark. */
export function auditedCreations(path: string, mark: number, resource: string, username: string): number {
  const events = linesAfter(path, mark).map((line) => JSON.parse(line) as AuditEvent)
  return events.filter(
    ({ stage, verb, user, objectRef }) =>
      stage === 'ResponseComplete' &&
      verb === 'create' &&
      user?.username === username &&
      objectRef?.resource === resource,
  ).length
}

function linesAfter(path: string, mark: number): string[] {
  const length = statSync(path).size - mark
  const buffer = Buffer.alloc(length)
  const file = openSync(path, 'r')
  try {
    readSync(file, buffer, 0, length, mark)
  } finally {
    closeSync(file)
  }
  // The last line may be incomplete.
  return buffer.toString('utf8').split('\n').slice(0, -1)
}

// Binds work on tenants' data to a namespace and to the life of the current activity call: work stops when the call ends.

import { asyncLocalStorage } from '@temporalio/activity'
import type { TenantData } from './bounded/tenant-data.ts'
import type { Tenant } from './bounded/thread-pool.ts'
import { kubeconfigIssuer } from './kubeconfigs/issue-kubeconfigs.ts'
import type { LandscaperDeps } from './deps.ts'
import { recordPlaces } from './further-documents.ts'

interface JobName {
  readonly subject: { readonly uid: string }
  readonly jobID: string
}

/**
 * The dependencies for one namespace: templates, data parsers, and an issuer of kubeconfigs for templates. Their work stops when the activity call is
 * cancelled or times out; the time-out is applied here, because Temporal may report it late.
 *
 * @param job the job whose templates are rendered.
 */
export function forNamespace(deps: LandscaperDeps, namespace: string, job: JobName): LandscaperDeps {
  const { landscaper } = deps
  const tenant = tenantOf(namespace)
  const issuer = { now: deps.now, targets: landscaper.targets, cache: landscaper.kubeconfigs }
  const kubeconfigs = kubeconfigIssuer(issuer, tenant, JSON.stringify([job.subject.uid, job.jobID]))
  const furtherDocuments = new Set<string>()
  const engine = landscaper.templates.of(tenant)
  const data = recordPlaces(engine.data, furtherDocuments)
  const templates = { ...landscaper.templates, ...engine, data, kubeconfigs }
  return { ...deps, landscaper: { ...landscaper, templates, furtherDocuments } }
}

/** Parsers for the data of one namespace, until the activity call ends. */
export function dataOf({ landscaper }: LandscaperDeps, { namespace }: { readonly namespace: string }): TenantData {
  return landscaper.templates.of(tenantOf(namespace)).data
}

/** The namespace as tenant, until the activity call ends. */
export function tenantOf(namespace: string): Tenant {
  return { namespace, signal: callSignal() }
}

/** Undefined outside of Temporal. */
function callSignal(): Tenant['signal'] {
  const context = asyncLocalStorage.getStore()
  if (context === undefined) return undefined
  const { cancellationSignal, info } = context
  const { startToCloseTimeoutMs } = info
  if (!(startToCloseTimeoutMs > 0) || startToCloseTimeoutMs > MAX_TIMER_MS) return cancellationSignal
  return AbortSignal.any([cancellationSignal, AbortSignal.timeout(startToCloseTimeoutMs)])
}

/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

// For whom an activity does its work on tenants' data, and how long: what the activity's end leaves behind nobody waits for.

import { asyncLocalStorage } from '@temporalio/activity'
import type { TenantData } from './bounded/tenant-data.ts'
import type { Tenant } from './bounded/thread-pool.ts'
import { kubeconfigIssuer } from './kubeconfigs/issue-kubeconfigs.ts'
import type { LandscaperDeps } from './deps.ts'
import { withPlaces } from './further-documents.ts'

interface JobName {
  readonly subject: { readonly uid: string }
  readonly jobID: string
}

/**
 * The dependencies with templates and data for one namespace, and with kubeconfigs for its templates, for as long as the call at work is waited for: until it is cancelled, or its time is over,
 * of which Temporal may tell late.
 *
 * @param job the job whose templates are rendered.
 */
export function forNamespace(deps: LandscaperDeps, namespace: string, job: JobName): LandscaperDeps {
  const { landscaper } = deps
  const tenant = tenantOf(namespace)
  const issuer = { now: deps.now, targets: landscaper.targets, lately: landscaper.kubeconfigs }
  const kubeconfigs = kubeconfigIssuer(issuer, tenant, JSON.stringify([job.subject.uid, job.jobID]))
  const furtherDocuments = new Set<string>()
  const engine = landscaper.templates.of(tenant)
  const data = withPlaces(engine.data, furtherDocuments)
  const templates = { ...landscaper.templates, ...engine, data, kubeconfigs }
  return { ...deps, landscaper: { ...landscaper, templates, furtherDocuments } }
}

/** Data of one namespace, read for as long as the call at work is waited for. */
export function dataOf({ landscaper }: LandscaperDeps, { namespace }: { readonly namespace: string }): TenantData {
  return landscaper.templates.of(tenantOf(namespace)).data
}

/** The namespace, for as long as the call at work is waited for. */
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

/** A longer wait than a timer can have is none. */
const MAX_TIMER_MS = 2 ** 31 - 1

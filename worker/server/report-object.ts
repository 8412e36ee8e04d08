// The Kubernetes objects in which the engine reports its own state (health, bugs): read and written by name, on the version that was read.

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import type { ReportResource, StatusReports } from '../../workflows/kit/index.ts'
import { WINGS } from '../../workflows/wings.gen.ts'
import { UsageError } from './usage-error.ts'

/** Namespace and name of the object. */
export interface ObjectPlace {
  readonly namespace: string
  readonly name: string
}

type Kube = Pick<KubeClient, 'request'>

/** Undefined: it does not exist. @throws failures of the API server. */
export async function readReportObject(
  kube: Kube,
  of: ReportResource,
  at: ObjectPlace,
): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(of, at.namespace, at.name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** @param before the object that was read; undefined: create it. @throws failures of the API server, including conflicts. */
export async function writeReportObject(
  kube: Kube,
  { of, at: { namespace, name }, before }: { of: ReportResource; at: ObjectPlace; before: KubeObject | undefined },
  fields: object,
): Promise<void> {
  if (before === undefined) {
    const body = { apiVersion: of.apiVersion, kind: of.kind, metadata: { namespace, name }, ...fields }
    await kube.request('POST', resourcePath(of, namespace), { body })
    return
  }
  await kube.request('PATCH', resourcePath(of, namespace, name), {
    body: { metadata: { resourceVersion: before.metadata.resourceVersion }, ...fields },
    contentType: 'application/merge-patch+json',
  })
}

// Source: RFC 1123 labels and subdomains, as Kubernetes requires for namespaces and names.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const NAME = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/

/**
 * The report object of a flag, and the first of these wings' kinds for it; undefined: the flag is not given.
 *
 * @throws UsageError with the name of the flag, the actual value and the expected value.
 */
export function reportTarget(
  flag: string,
  text: string | undefined,
  wings: readonly string[],
): { readonly at: ObjectPlace; readonly tells: StatusReports } | undefined {
  if (text === undefined) return undefined
  const [namespace = '', name = '', ...more] = text.split('/')
  if (more.length > 0 || !NAMESPACE.test(namespace) || !NAME.test(name))
    throw new UsageError(`--${flag}: found "${text}"; expected namespace/name`)
  const tells = wings.map((wing) => WINGS[wing]?.statusReports).find((one) => one !== undefined)
  if (tells === undefined)
    throw new UsageError(`--${flag}: no wing of --wings has a kind for it; add the wing, or remove the flag`)
  return { at: { namespace, name }, tells }
}

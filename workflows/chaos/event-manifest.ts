// What chaos-controller gives along with events about what is new or gone: the object as JSON, for who collects events. Source: spec/chaos.md 1.9.

import { writeJson } from '../kit/index.ts'
import type { ObservedObject } from '../kit/index.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND, GROUP, VERSION } from './contract.ts'

/** The annotation of an event, by what the event is about. Source: chaos-controller, api/v1beta1. */
const ANNOTATIONS = { [DISRUPTION_KIND]: 'disruption', [DISRUPTION_CRON_KIND]: 'disruption_cron' } as const

/** Annotations of an event: without what others have written beside the spec. */
export function eventManifest(
  kind: keyof typeof ANNOTATIONS,
  { metadata: { name, namespace, uid } }: ObservedObject,
  spec: object,
): Readonly<Record<string, string>> {
  const manifest = { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace, uid }, spec }
  return { [ANNOTATIONS[kind]]: writeJson(manifest) }
}

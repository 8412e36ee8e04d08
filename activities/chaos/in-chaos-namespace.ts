// The manifests of deploy/setup/chaos/ for another namespace: what `sed` does for people (docs/chaos.md). They name the usual one where they mean that of
// chaos pods, and nowhere else.

import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'

export function inChaosNamespace(manifest: string, namespace: string): string {
  return manifest.replaceAll(CHAOS_NAMESPACE, namespace)
}

// Keeps the Service of an App: its port 80 forwards to the Pods.

import { done, type Outcome } from 'pawl/kit'

import type { AppPass } from './app.gen.ts'

export async function applyService({ target, act }: AppPass): Promise<Outcome> {
  const { name } = target.metadata
  await act.apply({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: {
      selector: { 'app.kubernetes.io/name': name },
      ports: [{ name: 'http', port: 80, targetPort: target.spec.port }],
    },
  })
  return done
}

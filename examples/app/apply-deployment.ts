// Keeps the Deployment of an App.
//
//   D1. The clock is read once, as `pass.now`. Two readings could disagree on whether a pause is on and when it changes.
//   D2. An invalid pause is a fault, and the Pods keep running.
//   D3. Without `health` the probe is set to null, because `act.apply` does not change fields that it does not mention.

import { again, contentHash, done, fail, type Outcome, type WantedObject } from 'pawl/kit'

import type { AppPass } from './app.gen.ts'
import type { App } from './kind.ts'
import { pauseAt } from './pause.ts'

export async function applyDeployment({ target, act, status, now }: AppPass): Promise<Outcome> {
  const pause = pauseAt(target.spec.pause, now)
  const isPaused = !('problem' in pause) && pause.isOn
  status['paused'] = isPaused
  await act.apply(deploymentOf(target, isPaused ? 0 : target.spec.replicas))
  if ('problem' in pause) return fail('InvalidPause', pause.problem)
  status['changesAt'] = pause.changesAt?.toISOString().replace(/\.\d+Z$/, 'Z') ?? null
  return pause.changesAt === undefined ? done : again(pause.changesAt.getTime() - now.getTime())
}

function deploymentOf({ metadata: { name }, spec }: App, replicas: number): WantedObject {
  const { image, port, health, settings = {} } = spec
  const labels = { 'app.kubernetes.io/name': name }
  const container = {
    name: 'app',
    image,
    ports: [{ containerPort: port }],
    envFrom: [{ configMapRef: { name } }],
    // D3
    readinessProbe: health === undefined ? null : { httpGet: { path: health, port } },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'app.example.pawl.dev/settings': contentHash(settings) } },
        spec: { containers: [container] },
      },
    },
  }
}

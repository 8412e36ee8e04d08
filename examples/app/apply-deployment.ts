// Keeps the Deployment of an App.
//
//   D1. One look at the clock, `pass.now`: whether a pause is on, and when to come again, must not be answered by two times.
//   D2. A pause that cannot be read pauses nothing, and is a fault.
//   D3. A probe that nobody asks for any more is mentioned with null: what is not mentioned stays.

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

// A Shop, the target of a controller in level mode, and a ConfigMap that may be its own: as objects, and as inputs of activities say of them.

import type { KubeObject } from '../../activities/kube/client.ts'

export const TARGETS = '/apis/example.com/v1/namespaces/n/shops'
export const MAPS = '/api/v1/namespaces/n/configmaps'

export const by = { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 }
export const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
export const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
export const base = { by, subject, target }
export const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
export const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
export const stranger = { ...owner, name: 'other', uid: 'uid-other' }

export const shop = (change: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Shop',
  spec: { ref: 'a' },
  ...change,
  metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop', ...metadata },
})
export const map = (data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', namespace: 'n', uid: 'uid-a', ...metadata },
})

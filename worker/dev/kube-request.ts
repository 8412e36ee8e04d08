// The few requests that starting a cluster needs, before any client of the product exists: readiness and nodes.

import { request } from 'node:https'

export interface KubeAccess {
  /** e.g. https://127.0.0.1:6443 */
  readonly url: string
  readonly token: string
  /** PEM of the certificate authority. */
  readonly ca: string
}

/** Sends one request; resolves with status and body, whatever the status is. */
export function kubeRequest(
  access: KubeAccess,
  path: string,
  method: 'GET' | 'DELETE' = 'GET',
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${access.token}` }
    const call = request(
      `${access.url}${path}`,
      { method, ca: access.ca, agent: false, timeout: 5000, headers },
      (response) => {
        let body = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (body += chunk))
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
        response.once('error', reject)
      },
    )
    call.once('timeout', () => call.destroy(new Error(`${access.url}${path} did not answer within 5 s`)))
    call.once('error', reject)
    call.end()
  })
}

/** True when a GET of the path answers 200. */
export async function answers(access: KubeAccess, path: string): Promise<boolean> {
  return (await kubeRequest(access, path)).status === 200
}

// The declaration of pods that run Pawl's image (`pawl node-agent --pods`): the kubelet's and the container runtime's
// part that the node agent does not know. JavaScript, because the agent loads it by its path.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { clusterAddress } from '../cluster/cluster-network.ts'
import { trialProcess } from './trial-images.js'

/**
 * Variables of the agent: a file with the pulled images by their names ({@link pulledImage}), folders with NAMESPACE.hosts and with
 * programs, and HOST:PORT of the cluster.
 */
const [IMAGES, HOSTS, PROGRAMS, SERVER] = ['PAWL_IMAGES', 'PAWL_HOSTS', 'PAWL_TRIAL_PROGRAMS', 'PAWL_API_SERVER']

export const pods = {
  labels: ['pawl.dev/node-agent'],
  flags: {},
  load: () =>
    Promise.resolve({
      open: (_, { agentEnv }) => {
        const [host, port] = agentEnv[SERVER].split(':')
        // The kubelet sets the variables of the Service `kubernetes`.
        const cluster = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port }
        return {
          fileSystem: 'container',
          reportedIP: clusterAddress,
          process: (container) => {
            const { pod, podIP, command, env, workingDir } = container
            const { runAsUser: uid, runAsGroup: gid } = pod.spec.securityContext
            const args = ownAddress(container.args, podIP)
            const trial = trialProcess(container, agentEnv[PROGRAMS])
            const image = trial === undefined ? pulledImage(agentEnv[IMAGES], container.image) : NO_IMAGE
            const { root, config } = image
            const imageEnv = Object.fromEntries(config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2)))
            return Promise.resolve({
              argv: trial?.argv ?? [...(command.length > 0 ? command : config.Entrypoint), ...args],
              env: { ...imageEnv, HOSTNAME: pod.metadata.name, ...cluster, ...env },
              cwd: workingDir ?? config.WorkingDir,
              image: trial?.image ?? {},
              unpackedImage: {
                folder: root,
                uid,
                gid,
                hosts: join(agentEnv[HOSTS], `${pod.metadata.namespace}.hosts`),
              },
            })
          },
        }
      },
    }),
}

/** For programs of this machine. */
const NO_IMAGE = { root: '/', config: { Env: [], Entrypoint: [], WorkingDir: '/' } }

/** The folder in which the image is unpacked, and its configuration. */
function pulledImage(path, name) {
  const pulled = JSON.parse(readFileSync(path, 'utf8'))[name]
  if (pulled === undefined) throw new Error(`image ${name} is not pulled`)
  return pulled
}

/** All pods share this machine's network, in which each has an address of its own. The webhook listens on all by default. */
function ownAddress(args, podIP) {
  const own = args.map((word) => word.replace('0.0.0.0', podIP))
  return args[0] === 'webhook' ? [...own, `--host=${podIP}`] : own
}

import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { Route } from '../route.ts';
import { type DeviceReports, deviceDocument, utilizationDocument } from './device-report.ts';

/** What the device routes may ask of the host. */
export interface DevicePort {
  devices(): DeviceReports;
}

/** `/admin/v1/devices`; the admin port serves it. */
export function deviceRoutes(port: DevicePort): Route[] {
  return [
    readingRoute('/admin/v1/devices', (request) => answerJson(request, deviceDocument(port.devices()))),
  ];
}

/** `/metrics/gpu-util`. Without a device the list is empty: a made-up 0 % would not be true. */
export function gpuUtilizationRoute(port: DevicePort): Route {
  return {
    ...readingRoute('/metrics/gpu-util', (request) =>
      answerJson(request, utilizationDocument(port.devices())),
    ),
    protocol: 'compat',
  };
}

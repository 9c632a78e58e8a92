import type { ComfyApi } from "@comfyorg/comfyui-frontend-types";

export const api: ComfyApi;

/* MIG: the instances of a GPU, `mig.N.*` in its state, each a device of its own. */
#include "sim.h"

bool mig_is_on(const Device *device)
{
    return number_or(device_handle(device->gpu, PHYSICAL), 0, "mig.mode") != 0;
}

API int nvmlDeviceGetMaxMigDeviceCount(const Device *device, unsigned *count)
{
    DEVICE_CALL(device);
    REQUIRE(count != NULL);
    *count = to_u32(number_or(device, 0, "mig.max"));
    return SIM_SUCCESS;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(const Device *device, unsigned index,
                                            const Device **instance)
{
    DEVICE_CALL(device);
    REQUIRE(instance != NULL);
    if (device->mig != PHYSICAL || !mig_is_on(device))
        return SIM_ERROR_NOT_SUPPORTED;
    REQUIRE(index < number_or(device, 0, "mig.max"));
    if (index >= MAX_MIG_DEVICES || index >= number_or(device, 0, "mig.count"))
        return SIM_ERROR_NOT_FOUND; /* a free place: clients go on with the next index */
    *instance = device_handle(device->gpu, (int)index);
    return SIM_SUCCESS;
}

API int nvmlDeviceIsMigDeviceHandle(const Device *device, unsigned *is_mig)
{
    DEVICE_CALL(device);
    REQUIRE(is_mig != NULL);
    *is_mig = device->mig != PHYSICAL;
    return SIM_SUCCESS;
}

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(const Device *device, const Device **parent)
{
    DEVICE_CALL(device);
    REQUIRE(parent != NULL && device->mig != PHYSICAL);
    *parent = device_handle(device->gpu, PHYSICAL);
    return SIM_SUCCESS;
}

static int instance_id(const Device *device, unsigned *id, const char *kind)
{
    if (device->mig == PHYSICAL)
        return mig_is_on(device) ? SIM_ERROR_INVALID_ARGUMENT : SIM_ERROR_NOT_SUPPORTED;
    return read_u32(device, id, 1, "%s", kind);
}

API int nvmlDeviceGetGpuInstanceId(const Device *device, unsigned *id)
{
    DEVICE_CALL(device);
    return instance_id(device, id, "gpu_instance");
}

API int nvmlDeviceGetComputeInstanceId(const Device *device, unsigned *id)
{
    DEVICE_CALL(device);
    return instance_id(device, id, "compute_instance");
}

API int nvmlDeviceGetAttributes_v2(const Device *device, SimDeviceAttributes *attributes)
{
    DEVICE_CALL(device);
    REQUIRE(attributes != NULL);
    if (device->mig == PHYSICAL)
        return SIM_ERROR_NOT_SUPPORTED;
    double memory = number_or(device, 0, "memory.total");
    *attributes = (SimDeviceAttributes){
        .multiprocessorCount = to_u32(number_or(device, 0, "attribute.multiprocessors")),
        .sharedCopyEngineCount = to_u32(number_or(device, 0, "attribute.copy_engines")),
        .sharedDecoderCount = to_u32(number_or(device, 0, "attribute.decoders")),
        .sharedEncoderCount = to_u32(number_or(device, 0, "attribute.encoders")),
        .sharedJpegCount = to_u32(number_or(device, 0, "attribute.jpeg")),
        .sharedOfaCount = to_u32(number_or(device, 0, "attribute.ofa")),
        .gpuInstanceSliceCount = to_u32(number_or(device, 0, "attribute.gpu_slices")),
        .computeInstanceSliceCount = to_u32(number_or(device, 0, "attribute.compute_slices")),
        .memorySizeMB = to_u64(memory / 1048576),
    };
    return SIM_SUCCESS;
}
